import { type ModelServer, mainScene, startModelServer } from '@moli/scripted-model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, newSession, ofType, salesCsv, send } from '../support/scene.ts';
import { Installation } from './support/installation.ts';
import { command } from './support/kubectl.ts';
import { openObjects } from './support/objects.ts';

const installation = Installation.shared();
const { place } = installation;
let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer({
    script: mainScene,
    host: place.host,
    port: place.modelPort,
    apiKey: 'test-key',
    models: ['scripted-test'],
  });
});
afterAll(() => model?.stop());

test('a CSV goes in, words and a chart come out, and the bytes lie in S3', async () => {
  const api = installation.api();
  const sessionId = await newSession(api);
  const content = Buffer.from(salesCsv());
  const fileId = await api.upload(content, 'sales_data.csv', sessionId);
  const begun = performance.now();
  await send(api, sessionId, '分析最近三个月的销售趋势，画一张折线图', { fileIds: [fileId], locale: 'zh' });
  const events = await collect(api, sessionId, { timeoutMs: 120_000 });
  console.info(`from the question to the answer: ${(performance.now() - begun).toFixed(0)} ms`);
  expect(events.at(-1)?.type).toBe('turn.completed');
  const result = ofType(events, 'tool.result')[0]?.data as {
    verdict: string;
    artifacts: { id: string; name: string; bytes: number; mimeType: string }[];
  };
  expect(result.verdict).toBe('ok');
  const chart = result.artifacts.find(({ mimeType }) => mimeType === 'image/png');
  const bytes = await api.bytes(`/v1/artifacts/${chart?.id}/content`);
  expect([bytes.length, bytes.subarray(0, 8).toString('latin1')]).toEqual([chart?.bytes, '\x89PNG\r\n\x1a\n']);

  const { store, door } = await openObjects(installation);
  try {
    const sizes = (await store.list('')).items.map(({ bytes: size }) => size);
    expect(sizes).toEqual(expect.arrayContaining([content.length, chart?.bytes]));
  } finally {
    door.close();
  }
});

test('helm test runs the same job and says how long each stage took', async () => {
  // helm prints what the Pod said to standard error.
  const script = 'exec helm test "$0" -n "$1" --timeout 5m 2>&1';
  const said = await command('sh', ['-c', script, place.release, place.namespace], { timeoutMs: 6 * 60_000 });
  expect(said).toMatch(/Phase:\s+Succeeded/);
  expect(said).toMatch(/\d+ ms/);
  console.info(said.match(/^✓.*$/gm)?.join('\n'));
});
