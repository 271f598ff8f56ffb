import { type ModelServer, mainScene } from '@moli/scripted-model';
import { RUN_STAGES, STEPS } from '@moli/telemetry';
import { type OtlpCollector, startOtlpCollector } from '@moli/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, newSession, ofType, playModel, salesCsv } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

const TRACE_ID = 'c0ffee00c0ffee00c0ffee00c0ffee00';

let collector: OtlpCollector;
let stack: Stack;
let model: ModelServer;

beforeAll(async () => {
  collector = await startOtlpCollector();
  stack = await Stack.start({ env: { MOLI_OTLP_ENDPOINT: collector.url } });
  model = await playModel(mainScene, stack);
});
afterAll(async () => {
  await stack.stop();
  await model.stop();
  await collector.stop();
});

test('upload, context, decision, call, run, result and rendering of the main scene are one trace over all processes', async () => {
  const api = stack.api();
  const sessionId = await newSession(api);
  const headers = { traceparent: `00-${TRACE_ID}-00000000000000aa-01` };
  const form = new FormData();
  form.set('sessionId', sessionId);
  form.set('file', new Blob([salesCsv()]), 'sales_data.csv');
  const file = (await (await api.request('/v1/files', { method: 'POST', headers, body: form })).json()) as {
    id: string;
  };
  await api.request(`/v1/sessions/${sessionId}/messages`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ text: '分析最近三个月的销售趋势，画一张折线图', fileIds: [file.id], locale: 'zh' }),
  });
  const events = await collect(api, sessionId);
  expect(ofType(events, 'turn.completed')).toHaveLength(1);
  const wanted = [...Object.values(STEPS), ...Object.values(RUN_STAGES)];
  const seen = () => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
  // Exporters send in batches.
  await expect
    .poll(() => wanted.filter((name) => !seen().some((span) => span.name === name)), { timeout: 30_000 })
    .toEqual([]);
  expect(new Set(seen().map(({ service }) => service)).size).toBe(2);
  for (const name of wanted)
    expect(new Set(collector.spans.filter((span) => span.name === name).map(({ traceId }) => traceId))).toEqual(
      new Set([TRACE_ID]),
    );
});
