import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '@moli/errors';
import { startModelServer } from '@moli/scripted-model';
import { afterEach, expect, test } from 'vitest';
import { modelAgent } from './model-client.ts';
import { OpenAiProvider } from './openai.provider.ts';
import type { ModelEvent, ModelMessage, ModelTool } from './provider.types.ts';

const QUESTION: ModelMessage[] = [{ role: 'user', content: '你好' }];
const TOOL: ModelTool = {
  name: 'run_python',
  description: 'Runs code.',
  parameters: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
};
const KEY = 'sk-test-0123456789abcdef';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

type Script = Parameters<typeof startModelServer>[0]['script'];

async function scripted(script: Script, options: { apiKey?: string; models?: string[] } = {}) {
  const server = await startModelServer({ script, ...options });
  stops.push(() => server.stop());
  return server;
}

async function raw(handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server: Server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function provider(
  baseUrl: string,
  options: { model?: string; headersMs?: number; idleMs?: number; apiKey?: string } = {},
) {
  const timeouts = { connectMs: 2000, headersMs: options.headersMs ?? 30_000, idleMs: options.idleMs ?? 30_000 };
  const agent = modelAgent(timeouts);
  stops.push(() => agent.destroy());
  return new OpenAiProvider({
    server: { baseUrl, apiKey: options.apiKey ?? KEY, model: options.model ?? 'scripted-demo' },
    agent,
    timeouts,
    backOffMs: [1, 1],
  });
}

/** Everything that came, and the error that ended it. */
async function collect(
  stream: AsyncIterable<ModelEvent>,
): Promise<{ events: ModelEvent[]; text: string; fault: AppError | undefined }> {
  const events: ModelEvent[] = [];
  let fault: AppError | undefined;
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    fault = error;
  }
  return { events, text: events.map((event) => (event.type === 'text' ? event.text : '')).join(''), fault };
}

const ask = (baseUrl: string, options?: Parameters<typeof provider>[1]) =>
  collect(provider(baseUrl, options).streamChat(QUESTION, [TOOL]));

const completion = (content: string) => ({
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
});

test('text, reasoning, a call in splinters and the usage arrive in order', async () => {
  const server = await scripted([
    {
      reply: {
        steps: [
          { reasoning: '先想一想' },
          { text: '我来运行代码。🌍' },
          { call: { name: 'run_python', arguments: { code: 'print("{[")' } }, piece: 3 },
        ],
      },
    },
  ]);
  const { events, text, fault } = await ask(server.url);
  expect(fault).toBeUndefined();
  expect(text).toBe('我来运行代码。🌍');
  expect(events.map((event) => event.type).filter((type, i, all) => type !== all[i - 1])).toEqual([
    'reasoning',
    'text',
    'call',
    'end',
  ]);
  const call = events.find((event) => event.type === 'call')!.call;
  expect(JSON.parse(call.arguments)).toEqual({ code: 'print("{[")' });
  expect(events.at(-1)).toMatchObject({
    type: 'end',
    finishReason: 'tool_calls',
    usage: { promptTokens: expect.any(Number) },
  });
  expect(server.requests[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(server.requests[0]!.body).toMatchObject({
    model: 'scripted-demo',
    stream: true,
    stream_options: { include_usage: true },
  });
});

test('plain chat gives the whole answer', async () => {
  const server = await scripted([{ reply: { steps: [{ reasoning: 'r' }, { text: 'whole' }] } }]);
  expect(await provider(server.url).chat(QUESTION, [])).toMatchObject({
    text: 'whole',
    reasoning: 'r',
    calls: [],
    finishReason: 'stop',
  });
});

test('a wrong key, an unknown model and a wrong path are told apart', async () => {
  const server = await scripted([], { apiKey: 'another', models: ['m1'] });
  expect((await ask(server.url)).fault?.code).toBe('model_auth');
  const unknown = await ask(server.url, { apiKey: 'another', model: 'm2' });
  expect(unknown.fault?.code).toBe('model_not_found');
  expect(unknown.fault?.detail.zh).toContain('m2');
  const elsewhere = await raw((_, response) =>
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}'),
  );
  expect((await ask(`${elsewhere}/v1`)).fault).toMatchObject({
    code: 'model_unreachable',
    detail: { en: expect.stringContaining('/v1') },
  });
});

test.each([200, 404])('a web page with status %i is called a web page', async (status) => {
  const url = await raw((_, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<!doctype html><title>x</title>'),
  );
  const { fault } = await ask(url);
  expect(fault).toMatchObject({
    code: 'model_bad_answer',
    detail: { zh: expect.stringContaining('网页'), en: expect.stringContaining('web page') },
  });
});

test('a page sent as an event stream is still a page', async () => {
  const url = await raw((_, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('  <html></html>'),
  );
  expect((await ask(`${url}/v1`)).fault?.code).toBe('model_bad_answer');
});

test('429 is tried again after the time it names, and passed on when that is long', async () => {
  const busy = (seconds: string) => ({
    status: 429,
    headers: { 'retry-after': seconds },
    body: { error: { message: 'Rate limit reached.', code: 'rate_limit_exceeded' } },
  });
  const soon = await scripted([{ times: 1, reply: busy('0') }, { reply: { steps: [{ text: 'ok' }] } }]);
  expect((await ask(soon.url)).text).toBe('ok');
  const later = await scripted([{ reply: busy('120') }]);
  const { fault } = await ask(later.url);
  expect(fault).toMatchObject({ code: 'model_overloaded', retryAfterSeconds: 120 });
  expect(fault!.detail.zh).toContain('120');
  expect(later.requests).toHaveLength(1);
});

test('an empty account is not tried again', async () => {
  const server = await scripted([
    {
      reply: {
        status: 429,
        body: { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } },
      },
    },
  ]);
  expect((await ask(server.url)).fault?.code).toBe('model_refused');
  expect(server.requests).toHaveLength(1);
});

test('a failing server is asked three times, then its words are passed on', async () => {
  const server = await scripted([{ reply: { status: 500, body: { error: { message: 'CUDA out of memory' } } } }]);
  const { fault } = await ask(server.url);
  expect(fault).toMatchObject({ code: 'model_failed', detail: { en: expect.stringContaining('CUDA out of memory') } });
  expect(server.requests).toHaveLength(3);
});

test('a connection cut before the first word is tried again, after it never', async () => {
  const early = await scripted([
    { times: 1, reply: { steps: [{ cut: true }] } },
    { reply: { steps: [{ text: 'second' }] } },
  ]);
  expect(await ask(early.url)).toMatchObject({ text: 'second', fault: undefined });
  const late = await scripted([{ reply: { steps: [{ text: 'half a sen' }, { cut: true }] } }]);
  expect(await ask(late.url)).toMatchObject({ text: 'half a sen', fault: { code: 'model_cut' } });
  expect(late.requests).toHaveLength(1);
});

test('a cut in the middle of a call gives no call', async () => {
  const server = await scripted([
    {
      reply: {
        steps: [{ text: 'a' }, { call: { name: 'run_python', arguments: '{"code": "print(1)' } }, { cut: true }],
      },
    },
  ]);
  const { events, fault } = await ask(server.url);
  expect(events.filter((event) => event.type === 'call')).toEqual([]);
  expect(fault?.code).toBe('model_cut');
});

test('silence ends as a timeout, before the headers and between two pieces', async () => {
  const silent = await raw(() => {});
  expect((await ask(`${silent}/v1`, { headersMs: 50 })).fault?.code).toBe('model_timeout');
  const stuck = await scripted([{ reply: { steps: [{ text: 'so far' }, { hang: true }] } }]);
  expect(await ask(stuck.url, { idleMs: 50 })).toMatchObject({ text: 'so far', fault: { code: 'model_timeout' } });
});

test('a refusal whose body never ends is still told', async () => {
  const url = await raw((_, response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).write('{"error":'),
  );
  expect((await ask(`${url}/v1`, { idleMs: 50 })).fault?.code).toBe('model_auth');
});

test('a server that is not there is unreachable', async () => {
  const url = await raw(() => {});
  await stops.pop()!();
  const { fault } = await ask(`${url}/v1`);
  expect(fault).toMatchObject({ code: 'model_unreachable', detail: { zh: expect.stringContaining(url.slice(7)) } });
});

test('stop closes the socket at once and throws the reason of the signal', async () => {
  const server = await scripted([{ reply: { steps: [{ text: 'abc', piece: 1 }, { hang: true }] } }]);
  const stop = new AbortController();
  const reason = new Error('stopped');
  const seen: string[] = [];
  await expect(async () => {
    for await (const event of provider(server.url).streamChat(QUESTION, [], { signal: stop.signal })) {
      if (event.type === 'text') seen.push(event.text);
      if (seen.length === 3) stop.abort(reason);
    }
  }).rejects.toBe(reason);
  expect(seen.join('')).toBe('abc');
  await expect.poll(() => server.requests[0]!.aborted).toBe(true);
});

test('a reader that leaves early closes the socket', async () => {
  const server = await scripted([{ reply: { steps: [{ text: 'abc' }, { hang: true }] } }]);
  for await (const _ of provider(server.url).streamChat(QUESTION, [])) break;
  await expect.poll(() => server.requests[0]!.aborted).toBe(true);
});

test('a server that answers without streaming is understood', async () => {
  const url = await raw((_, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(completion('<think>a</think>整句'))),
  );
  const { events, text } = await ask(`${url}/v1`);
  expect(text).toBe('整句');
  expect(events.at(-1)).toEqual({ type: 'end', finishReason: 'stop', usage: { promptTokens: 5, completionTokens: 2 } });
});

test('connections are used again', async () => {
  const ports = new Set<number | undefined>();
  const url = await raw((request, response) => {
    ports.add(request.socket.remotePort);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      `data: ${JSON.stringify({ choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    );
  });
  const model = provider(`${url}/v1`);
  for (let i = 0; i < 20; i++) expect((await collect(model.streamChat(QUESTION, []))).text).toBe('x');
  // The next request may start before the end of the last answer was read.
  expect(ports.size).toBeLessThan(10);
});

test.each(['', '/', '/v1', '/v1/', '/v1/chat/completions', '/v1/models'])(
  'the base URL may end with "%s"',
  async (tail) => {
    const server = await scripted([{ reply: { steps: [{ text: 'found' }] } }]);
    expect((await ask(server.url.replace(/\/v1$/, tail))).text).toBe('found');
  },
);

test('a server below a path without a version is found with and without /v1', async () => {
  for (const path of ['/relay/chat/completions', '/relay/v1/chat/completions']) {
    const url = await raw((request, response) => {
      if (request.url !== path) return response.writeHead(404).end('not here');
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion('found')));
    });
    const model = provider(`${url}/relay`);
    expect((await collect(model.streamChat(QUESTION, []))).text).toBe('found');
  }
});

test('a server that does not know stream_options is asked without', async () => {
  const bodies: string[] = [];
  const url = await raw(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    bodies.push(body);
    if (body.includes('stream_options'))
      return response.writeHead(400).end('{"error":{"message":"Unrecognized request argument: stream_options"}}');
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion('ok')));
  });
  const model = provider(`${url}/v1`);
  expect((await collect(model.streamChat(QUESTION, []))).text).toBe('ok');
  expect((await collect(model.streamChat(QUESTION, []))).text).toBe('ok');
  expect(bodies).toHaveLength(3);
});

test('no error repeats the key', async () => {
  const echo = (status: number) => ({
    status,
    body: { error: { message: `Incorrect API key provided: ${KEY}, header Bearer ${KEY}` } },
  });
  for (const status of [401, 400, 500]) {
    const server = await scripted([{ reply: echo(status) }]);
    const { fault } = await ask(server.url);
    expect(JSON.stringify([fault!.detail, fault!.fields, fault!.message])).not.toContain(KEY);
  }
  const inside = await raw((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: {"error":{"message":"key ${KEY} is bad"}}\n\n`);
  });
  const { fault } = await ask(`${inside}/v1`);
  expect(JSON.stringify([fault!.detail, fault!.fields, fault!.message])).not.toContain(KEY);
});

test('history goes out in the protocol, with broken arguments made an object', async () => {
  const server = await scripted([{ reply: { steps: [{ text: 'ok' }] } }]);
  await provider(server.url).chat(
    [
      { role: 'system', content: 's' },
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: '',
        reasoning: 'because',
        calls: [{ id: 'c1', name: 'run_python', arguments: 'print(1' }],
      },
      { role: 'tool', callId: 'c1', name: 'run_python', content: 'bad' },
    ],
    [TOOL],
  );
  expect(server.requests[0]!.body.messages).toEqual([
    { role: 'system', content: 's' },
    { role: 'user', content: 'q' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'run_python', arguments: '{"raw":"print(1"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'bad' },
  ]);
});

test('no question waits for the answer to another one, however many there are', async () => {
  const questions = 600;
  const waiting: ServerResponse[] = [];
  const url = await raw((_, response) => {
    waiting.push(response);
    if (waiting.length < questions) return;
    for (const each of waiting) {
      each.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion('ok')));
    }
  });
  const model = provider(`${url}/v1`);
  const answers = await Promise.all(
    Array.from({ length: questions }, () => collect(model.streamChat(QUESTION, [TOOL]))),
  );
  expect(answers.filter(({ text }) => text === 'ok')).toHaveLength(questions);
});
