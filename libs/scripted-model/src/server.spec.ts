import { afterEach, expect, test } from 'vitest';
import { type ModelServer, mainScene, type Script, startModelServer } from './index.ts';

let server: ModelServer | undefined;
afterEach(() => server?.stop());

async function start(script: Script, options: { apiKey?: string; models?: string[] } = {}): Promise<ModelServer> {
  server = await startModelServer({ script, ...options });
  return server;
}

function ask(content: string, extra: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server?.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer right' },
    body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content }], ...extra }),
    ...(signal ? { signal } : {}),
  });
}

interface Chunk {
  choices: {
    delta: { content?: string; tool_calls?: { index: number; function: { name?: string; arguments: string } }[] };
    finish_reason: string | null;
  }[];
  usage?: { total_tokens: number };
}

async function chunks(response: Response): Promise<Chunk[]> {
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice(6)));
}

test('streams words and a call in splinters that join to the script', async () => {
  await start([
    {
      reply: {
        steps: [
          { text: '好的，😀 done', piece: 1 },
          { call: { name: 'run_python', arguments: { code: 'print("{[")' } }, piece: 3 },
        ],
      },
    },
  ]);
  const all = await chunks(await ask('hi', { stream_options: { include_usage: true } }));
  expect(all.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('好的，😀 done');
  const calls = all.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  expect(calls.length).toBeGreaterThan(5);
  expect(calls[0]?.function.name).toBe('run_python');
  expect(JSON.parse(calls.map((call) => call.function.arguments).join(''))).toEqual({ code: 'print("{[")' });
  expect(all.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
  expect(all.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
});

test('rules are chosen by question, tool result and count', async () => {
  const say = (text: string) => ({ steps: [{ text }] });
  await start([
    { user: 'once', times: 1, reply: say('first') },
    { tool: /boom/, reply: say('tool said boom') },
    { user: /o.ce/, tool: false, reply: say('second') },
  ]);
  const answer = async (response: Response) =>
    (await chunks(response)).map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  expect(await answer(await ask('once'))).toBe('first');
  expect(await answer(await ask('once'))).toBe('second');
  const messages = [
    { role: 'user', content: 'other' },
    { role: 'tool', tool_call_id: 'x', content: 'boom' },
  ];
  expect(await answer(await ask('', { messages }))).toBe('tool said boom');
  expect((await ask('unknown')).status).toBe(500);
});

test('refuses a wrong key and an unknown model, lists its models, answers whole', async () => {
  await start([{ reply: { steps: [{ text: 'whole' }] } }], { apiKey: 'right', models: ['m'] });
  expect((await ask('hi', { model: 'other' })).status).toBe(404);
  expect((await fetch(`${server?.url}/models`)).status).toBe(401);
  expect((await fetch(`${server?.url}/models`, { headers: { authorization: 'Bearer right' } })).status).toBe(200);
  expect(await (await ask('hi', { stream: false })).json()).toMatchObject({
    choices: [{ message: { content: 'whole' }, finish_reason: 'stop' }],
  });
  const page = await fetch(`http://127.0.0.1:${server?.port}/chat/completions`, { method: 'POST' });
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
});

test('misbehaves as told: status with Retry-After, cut, hang, recorded bytes', async () => {
  await start([
    { user: 'busy', reply: { status: 429, headers: { 'retry-after': '7' }, body: { error: { message: 'busy' } } } },
    { user: 'cut', reply: { steps: [{ text: 'half' }, { cut: true }] } },
    { user: 'hang', reply: { steps: [{ text: 'half' }, { hang: true }] } },
    { user: 'recorded', reply: { sse: 'data: {"odd": 1}\r\n\r\n', piece: 5 } },
  ]);
  expect((await ask('busy')).headers.get('retry-after')).toBe('7');
  await expect((await ask('cut')).text()).rejects.toThrow();
  expect(await (await ask('recorded')).text()).toBe('data: {"odd": 1}\r\n\r\n');
  const leave = new AbortController();
  const hanging = await ask('hang', {}, leave.signal);
  leave.abort();
  await expect(hanging.text()).rejects.toThrow();
  await expect.poll(() => server?.requests.at(-1)?.aborted).toBe(true);
  expect(server?.requests.map((request) => request.aborted)).toEqual([false, false, false, true]);
});

test('the main scene reads the file that the request names, and quotes what its program printed', async () => {
  await start(mainScene);
  const tools = [{ type: 'function', function: { name: 'run_python', parameters: {} } }];
  const messages = [
    {
      role: 'system',
      content: [
        '文件 "old.csv", csv, 1 KB, 编码 utf-8',
        '文件 "销售 \\"数据\\".csv", csv, 12 KB, 编码 big5 (Python: big5hkscs), 分隔符 ","',
        '900 行 × 3 列："日期" 日期, "地区" 文本, "数量" 整数, "销售额" 数值',
      ].join('\n'),
    },
    { role: 'user', content: '分析最近三个月的销售趋势，画一张折线图\n\n[销售 "数据".csv]' },
  ];
  const first = await chunks(await ask('', { messages, tools }));
  const code = JSON.parse(
    first
      .flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
      .map((call) => call.function.arguments)
      .join(''),
  ).code;
  expect(code).toContain('pd.read_csv("销售 \\"数据\\".csv"');
  expect(code).toContain('encoding="big5hkscs"');
  expect(code).toContain('date_column = "日期"');
  expect(code).toContain('value_column = "销售额"');
  const result = { role: 'tool', tool_call_id: 'x', content: '2026-01  100.00\n2026-02  150.00\n合计  250.00' };
  const second = await chunks(await ask('', { messages: [...messages, result], tools }));
  const text = second.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  expect(text).toContain('| 2026-02 | 150.00 |');
  expect(text).toContain('上升了 50.0%');
});
