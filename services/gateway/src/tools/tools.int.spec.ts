import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway, type TestTenant } from '../gateway.fixture.ts';

let gateway: TestGateway;
let tenant: TestTenant;
let sessionId: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  tenant = await gateway.newTenant('Tools');
  sessionId = (await gateway.ask('/v1/sessions', { key: tenant.keys.member, body: {} })).json.id;
  await upload(
    'gbk 销售.csv',
    Buffer.from([...Buffer.from('a,b\n'), 0xd6, 0xd0, 0x2c, 0x31, 0x0a, 0xce, 0xc4, 0x2c, 0x32, 0x0a]),
  );
  await upload('notes.txt', Buffer.from(Array.from({ length: 300 }, (_, i) => `line ${i + 1}`).join('\n')));
});
afterAll(() => gateway?.close());

async function upload(name: string, bytes: Buffer): Promise<void> {
  const form = new FormData();
  form.set('sessionId', sessionId);
  form.set('file', new Blob([new Uint8Array(bytes)]), name);
  const answer = await fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${tenant.keys.member}` },
  });
  expect(answer.status, await answer.text()).toBe(201);
}

const call = (name: string, body: unknown, options: { session?: string; key?: string; language?: string } = {}) =>
  gateway.ask(`/tools/${name}/execute${options.session ? `?sessionId=${options.session}` : ''}`, {
    key: options.key ?? tenant.keys.member,
    body,
    method: 'POST',
    headers: { 'accept-language': options.language ?? 'en' },
  });

test('the list has the form of function calling', async () => {
  const { status, json } = await gateway.ask('/tools/openai', { key: tenant.keys.viewer });
  expect(status).toBe(200);
  expect(json.map((item: { function: { name: string } }) => item.function.name)).toEqual([
    'run_python',
    'file_list',
    'file_read',
    'calculate',
  ]);
  for (const item of json) {
    expect(Object.keys(item).sort()).toEqual(['function', 'type']);
    expect(item.type).toBe('function');
    expect(Object.keys(item.function).sort()).toEqual(['description', 'name', 'parameters']);
    expect(item.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(item.function.parameters).toMatchObject({ type: 'object', properties: expect.any(Object) });
    for (const name of item.function.parameters.required ?? [])
      expect(item.function.parameters.properties).toHaveProperty(name);
  }
  const run = json[0].function.parameters;
  expect(run).toMatchObject({ properties: { code: { type: 'string' }, files: { type: 'array' } }, required: ['code'] });
});

test('a call answers in the envelope, from an object and from a JSON string', async () => {
  for (const body of [{ expression: '0.1 + 0.2' }, '"{\\"expression\\": \\"0.1 + 0.2\\"}"']) {
    const { status, json } = await call('calculate', body);
    expect(status).toBe(200);
    expect(json).toEqual({
      ok: true,
      content: '0.1 + 0.2 = 0.3',
      state: { value: '0.3', exact: true },
      artifacts: [],
      durationMs: expect.any(Number),
      cached: false,
    });
  }
  expect((await call('calculator', { expression: '1+1' })).json.content).toBe('1+1 = 2');
});

test('an unknown tool and bad arguments are errors that say what is wrong', async () => {
  expect(await call('rm_rf', {})).toMatchObject({
    status: 404,
    json: { code: 'unknown_tool', detail: expect.stringContaining('rm_rf') },
  });
  expect(await call('run_python', { source: 'print(1)' })).toMatchObject({
    status: 422,
    json: { code: 'bad_arguments', issues: [{ path: '/code', message: expect.stringContaining('required') }] },
  });
  expect(await call('run_python', '[1,2]')).toMatchObject({ status: 422, json: { issues: [{ path: '' }] } });
  expect((await call('run_python', { code: '' }, { language: 'zh' })).json.detail).toBe(
    '工具 run_python 的参数有误，没有执行：/code 不能为空。',
  );
  expect(await call('calculate', { expression: '1/0' }, { language: 'zh' })).toMatchObject({
    status: 422,
    json: { code: 'bad_arguments', detail: expect.stringContaining('没有执行'), issues: [{ path: '/expression' }] },
  });
  expect((await gateway.ask('/tools/calculate/execute', { body: { expression: '1' } })).status).toBe(401);
  expect((await call('calculate', { expression: '1' }, { key: tenant.keys.viewer })).status).toBe(403);
});

test('the files of a session are listed and read, in their own encoding', async () => {
  const list = await call('file_list', {}, { session: sessionId });
  expect(list.json.content).toContain('gbk 销售.csv');
  expect(list.json.state.map((file: { name: string }) => file.name)).toEqual(['gbk 销售.csv', 'notes.txt']);
  const csv = await call('file_read', { name: '/mnt/data/gbk 销售.csv' }, { session: sessionId });
  expect(csv.json.content).toContain('中,1\n文,2');
  const lines = await call(
    'file_read',
    { name: 'notes.txt', start_line: '299', max_lines: 10 },
    { session: sessionId },
  );
  expect(lines.json.content).toMatch(/lines 299-300\. This is the end of the file\.\n\nline 299\nline 300$/);
  const bytes = await call('file_read', { name: 'notes.txt', start_byte: 5, max_bytes: 8 }, { session: sessionId });
  expect(bytes.json.content).toMatch(/bytes 5-12 of \d+\. More follows: go on with start_byte 13\.\n\n1\nline 2$/);
});

test('nothing outside of the session can be named', async () => {
  for (const name of ['../notes.txt', '/etc/passwd', 'notes.txt/../notes.txt', 'NOTES.TXT', '']) {
    const { status, json } = await call('file_read', { name }, { session: sessionId });
    if (name === '') expect(status).toBe(422);
    else
      expect(json, name).toMatchObject({
        ok: false,
        error: { code: 'not_found', message: expect.stringContaining('notes.txt') },
      });
  }
  const other = await gateway.newTenant('Other');
  for (const [name, body] of [
    ['file_list', {}],
    ['file_read', { name: 'notes.txt' }],
  ] as const) {
    expect((await call(name, body, { session: sessionId, key: other.keys.owner })).json).toMatchObject({
      ok: false,
      error: { code: 'not_found' },
    });
    expect((await call(name, body)).json).toMatchObject({ ok: false, error: { code: 'bad_request' } });
  }
  expect((await call('file_list', {}, { session: 'ses_1' })).status).toBe(400);
});

test('series count calls by tool and outcome', async () => {
  const { text } = await gateway.ask('/metrics');
  expect(text).toMatch(/moli_tool_calls_total\{tool="calculate",outcome="ok"\} [1-9]/);
  expect(text).toMatch(/moli_tool_calls_total\{tool="unknown",outcome="refused"\} 1/);
  expect(text).toMatch(/moli_tool_duration_seconds_count\{tool="file_read"\} [1-9]/);
});
