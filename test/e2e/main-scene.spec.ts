import type { ModelServer } from '@moli/scripted-model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, mainScene, newSession, ofType, playModel, salesCsv, send, wordsOf } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

const stack = Stack.shared();
const api = stack.api();
let model: ModelServer;
beforeAll(async () => {
  model = await playModel(mainScene);
});
afterAll(() => model.stop());

interface Artifact {
  id: string;
  name: string;
  mimeType: string;
  bytes: number;
  sha256: string;
}

test('a CSV goes in, words and a chart come out', async () => {
  const sessionId = await newSession(api);
  const content = Buffer.from(salesCsv());
  const fileId = await api.upload(content, 'sales_data.csv', sessionId);
  const file = await api.call<{
    name: string;
    bytes: number;
    table: { encoding: string; rows: number; columns: { name: string; type: string }[] };
  }>('GET', `/v1/files/${fileId}`);
  expect(file).toMatchObject({
    name: 'sales_data.csv',
    bytes: content.length,
    table: { encoding: 'utf-8-sig', rows: 915 },
  });
  expect(file.table.columns).toEqual([
    { name: '日期', type: 'date' },
    { name: '地区', type: 'string' },
    { name: '产品', type: 'string' },
    { name: '数量', type: 'integer' },
    { name: '销售额', type: 'number' },
  ]);

  const { turnId } = await send(api, sessionId, '分析最近三个月的销售趋势，画一张折线图', {
    fileIds: [fileId],
    locale: 'zh',
  });
  const events = await collect(api, sessionId);

  expect(events.at(-1)?.type).toBe('turn.completed');
  expect(events.map((event) => event.seq)).toEqual(events.map((_, at) => at + 1));
  const call = ofType(events, 'tool.call')[0]?.data as { name: string; arguments: { code: string } };
  expect(call.name).toBe('run_python');
  // The columns are those that the description of the file names.
  expect(call.arguments.code).toContain('date_column = "日期"\nvalue_column = "销售额"');
  const result = ofType(events, 'tool.result')[0]?.data as {
    ok: boolean;
    content: string;
    verdict: string;
    artifacts: Artifact[];
  };
  expect(result).toMatchObject({ ok: true, verdict: 'ok' });
  const chart = result.artifacts.find((artifact) => artifact.mimeType === 'image/png') as Artifact;
  expect(chart.name).toBe('sales_trend.png');
  const bytes = await api.bytes(`/v1/artifacts/${chart.id}/content`);
  expect([bytes.length, bytes.subarray(0, 8).toString('latin1')]).toEqual([chart.bytes, '\x89PNG\r\n\x1a\n']);

  // The answer quotes the figures of the real program, which are those of the file.
  const completed = ofType(events, 'message.completed').at(-1)?.data as { text: string; status: string };
  expect(completed.status).toBe('completed');
  for (const [month, total] of lastThreeMonths()) expect(completed.text).toContain(`| ${month} | ${total} |`);
  expect(wordsOf(events, turnId)).toBe(completed.text);
});

test('what the model is told of the file is its description, never its bytes', () => {
  const request = model.requests[0]?.body;
  const text = JSON.stringify(request);
  expect(text).toContain('sales_data.csv');
  expect(text).toContain('销售额');
  // The first data row of the file.
  expect(text).not.toContain(salesCsv().split('\r\n')[1]);
  expect(request?.tools?.map((tool) => tool.function.name)).toContain('run_python');
});

test('the same answer comes out of messages, events as a page, and export', async () => {
  const { items } = await api.call<{ items: { id: string }[] }>('GET', '/v1/sessions');
  const sessionId = items[0]?.id as string;
  const messages = await api.call<{
    items: { role: string; text: string; tools: { ok: boolean; artifacts: Artifact[] }[] }[];
    lastSeq: number;
  }>('GET', `/v1/sessions/${sessionId}/messages`);
  expect(messages.items.map((message) => message.role)).toEqual(['user', 'assistant']);
  expect(messages.items[1]?.tools[0]).toMatchObject({ ok: true, artifacts: [{ name: 'sales_trend.png' }] });
  const asPage = await api.request(`/v1/sessions/${sessionId}/events?after=0`, {
    headers: { accept: 'application/json' },
  });
  const page = (await asPage.json()) as { items: { seq: number }[] };
  expect(page.items.at(-1)?.seq).toBe(messages.lastSeq);
  const markdown = await (await api.request(`/v1/sessions/${sessionId}/export?format=md`)).text();
  expect(markdown).toContain(messages.items[1]?.text.trim());
});

/** By hand from the file, as the answer writes them. */
function lastThreeMonths(): [string, string][] {
  const totals = new Map<string, number>();
  for (const line of salesCsv().trim().split('\r\n').slice(1)) {
    const cells = line.split(',');
    const month = (cells[0] as string).slice(0, 7);
    totals.set(month, (totals.get(month) ?? 0) + Number(cells[4]));
  }
  const shown = (value: number) =>
    value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return [...totals].slice(-3).map(([month, total]) => [month, shown(total)]);
}
