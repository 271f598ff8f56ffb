import { until } from '@moli/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestGateway, TestTenant } from '../gateway.fixture.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from '../runs/runs.fixture.ts';

let gateway: TestGateway;
let executor: TestExecutor;
let tenant: TestTenant;
let sessionId: string;

beforeAll(async () => {
  gateway = await startRunsGateway();
  executor = await startExecutor(gateway.redis.url);
  tenant = await gateway.newTenant('Tools');
  sessionId = (await gateway.ask('/v1/sessions', { key: tenant.keys.member, body: {} })).json.id;
  for (const [name, text] of [
    ['sales.csv', 'm,v\n1,100\n2,150\n'],
    ['other.csv', 'x\n1\n'],
  ] as const)
    await upload(name, text);
});
afterAll(async () => {
  await executor?.stop();
  await gateway?.close();
});

async function upload(name: string, text: string): Promise<void> {
  const form = new FormData();
  form.set('sessionId', sessionId);
  form.set('file', new Blob([text]), name);
  const answer = await fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${tenant.keys.member}` },
  });
  expect(answer.status).toBe(201);
}

const run = (body: unknown, session = '', name = 'run_python') =>
  gateway.ask(`/tools/${name}/execute${session && `?sessionId=${session}`}`, {
    key: tenant.keys.member,
    body,
    method: 'POST',
    headers: { 'accept-language': 'zh' },
  });

test('a program runs; its output and files come back in the envelope, without bytes', async () => {
  const code =
    'import pandas as pd\nimport matplotlib.pyplot as plt\ndf = pd.read_csv("sales.csv")\nprint(df.v.sum())\ndf.plot(x="m", y="v")\nplt.savefig("趋势.png")';
  const { status, json } = await run({ code, extra: 'dropped' }, sessionId);
  expect(status, JSON.stringify(json)).toBe(200);
  expect(json).toMatchObject({
    ok: true,
    cached: false,
    runId: expect.stringMatching(/^run_/),
    state: { verdict: 'ok' },
  });
  expect(json.content).toContain('250');
  expect(json.content).toContain('趋势.png');
  expect(json.artifacts).toMatchObject([{ name: '趋势.png', mimeType: 'image/png', sha256: expect.any(String) }]);
  expect(JSON.stringify(json)).not.toMatch(/[A-Za-z0-9+/]{200,}/);
  const { json: files } = await run({}, sessionId, 'file_list');
  expect(files.state.map((file: { name: string; origin: string }) => [file.name, file.origin])).toEqual([
    ['sales.csv', 'uploaded'],
    ['other.csv', 'uploaded'],
    ['趋势.png', 'made'],
  ]);
});

test('what a program made is read by name, and found by the next one', async () => {
  expect((await run({ code: 'open("notes.md", "w").write("# 结论\\n一\\n")' }, sessionId)).json.ok).toBe(true);
  const read = await run({ name: 'notes.md' }, sessionId, 'file_read');
  expect(read.json.content).toMatch(/# 结论\n一/);
  expect((await run({ name: '趋势.png' }, sessionId, 'file_read')).json).toMatchObject({
    ok: false,
    error: { code: 'unreadable_file', message: expect.stringContaining('PIL') },
  });
  expect((await run({ code: 'print(open("notes.md").read())' }, sessionId)).json.content).toContain('结论');
});

test('only the named files are given, and a wrong name says which there are', async () => {
  const code = 'import os; print(sorted(n for n in os.listdir(".") if n.endswith(".csv")))';
  expect((await run({ code }, sessionId)).json.content).toContain("['other.csv', 'sales.csv']");
  const one = await run({ code, files: 'other.csv' }, sessionId);
  expect(one.json.content).toContain("['other.csv']");
  const none = await run({ code, files: ['missing.csv'] }, sessionId);
  expect(none.json).toMatchObject({
    ok: false,
    error: { code: 'not_found', message: expect.stringContaining('sales.csv') },
  });
});

test('a program that fails is a failed call with HTTP 200, explained', async () => {
  const { status, json } = await run({ code: '1/0' });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    ok: false,
    state: { verdict: 'user_error' },
    error: { code: 'user_error', message: expect.stringContaining('ZeroDivisionError'), line: 1 },
  });
  expect(json.error.explanation.zh).not.toBe('');
  expect(json.content).toContain('ZeroDivisionError');
  const result = await gateway.ask(`/v1/runs/${json.runId}`, { key: tenant.keys.member });
  expect(result.json).toMatchObject({ success: false, verdict: 'user_error' });
  const { text } = await gateway.ask('/metrics');
  expect(text).toMatch(/moli_tool_calls_total\{tool="run_python",outcome="failed"\} [1-9]/);
});

test('a caller that leaves ends its run', async () => {
  const leave = new AbortController();
  const left = fetch(`${gateway.url}/tools/run_python/execute?sessionId=${sessionId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.keys.member}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code: 'print("left alone")\nwhile True: pass' }),
    signal: leave.signal,
  });
  const newest = async () =>
    (await gateway.ask(`/v1/runs?sessionId=${sessionId}`, { key: tenant.keys.member })).json.items[0];
  const before = (await newest()).runId;
  await until(async () => (await newest()).runId !== before, { what: 'the run began' });
  leave.abort();
  await expect(left).rejects.toThrow();
  const { runId } = await newest();
  const verdict = async () => (await gateway.ask(`/v1/runs/${runId}`, { key: tenant.keys.member })).json.verdict;
  await until(async () => (await verdict()) !== undefined, { what: 'the run ended', timeoutMs: 20_000 });
  expect(await verdict()).toBe('cancelled');
});

test('bare code and the other name do the same', async () => {
  expect((await run(JSON.stringify('print(6*7)'), '', 'execute_code')).json.content).toContain('42');
});
