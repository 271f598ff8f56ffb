import type { ModelServer } from '@moli/scripted-model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import { collect, longAnswer, newSession, ofType, playModel, send, wordsOf } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

// A stack of its own: what is killed here is not missed by the other files.
let stack: Stack;
let api: ApiClient;
let model: ModelServer;

beforeAll(async () => {
  stack = await Stack.start();
  api = stack.api();
  model = await playModel(
    [
      { user: 'slowly', reply: longAnswer(120, 25)[0]?.reply ?? { steps: [] } },
      { reply: { steps: [{ text: 'Here.' }] } },
    ],
    stack,
  );
});
afterAll(async () => {
  await stack.stop();
  await model.stop();
});

interface Result {
  runId: string;
  verdict: string;
  stdout: string;
}

function execute(code: string, extra: object = {}): Promise<Result> {
  return api.call<Result>('POST', '/v1/code/execute', { code, ...extra });
}

async function kill(service: string): Promise<void> {
  process.kill(await stack.pidOf(service), 'SIGKILL');
}

/** Everything is back by itself, and both a turn and a run work. */
async function works(): Promise<void> {
  await expect.poll(async () => (await stack.status()).ready, { timeout: 30_000, interval: 200 }).toBe(true);
  await expect.poll(async () => (await api.request('/readyz')).status, { timeout: 30_000, interval: 200 }).toBe(200);
  expect(await execute('print(6 * 7)')).toMatchObject({ verdict: 'ok', stdout: '42\n' });
  const sessionId = await newSession(api);
  await send(api, sessionId, 'Are you there?');
  expect(wordsOf(await collect(api, sessionId))).toBe('Here.');
}

test('a file that was uploaded before a restart is there after it, with the same content (UPL-17)', async () => {
  const sessionId = await newSession(api);
  const fileId = await api.upload(Buffer.from('x\n1\n2\n'), 'kept.csv', sessionId);
  const code = 'print(open("kept.csv").read(), end="")';
  const before = await execute(code, { sessionId, files: [{ id: fileId, name: 'kept.csv' }] });
  await stack.stop();
  expect((await stack.status()).running).toBe(false);
  await stack.startAgain();
  const after = await execute(code, { sessionId, files: [{ id: fileId, name: 'kept.csv' }] });
  expect([before.verdict, after.verdict, after.stdout]).toEqual(['ok', 'ok', 'x\n1\n2\n']);
  expect((await api.call<{ id: string }>('GET', `/v1/sessions/${sessionId}`)).id).toBe(sessionId);
});

test('executor killed in the middle of a run: the run ends with a verdict, the next one works', async () => {
  const { runId } = await start('import time\nprint("on", flush=True)\ntime.sleep(20)\n');
  await outputOf(runId);
  await kill('executor');
  await expect
    .poll(async () => (await api.call<Result>('GET', `/v1/runs/${runId}`)).verdict, { timeout: 20_000 })
    .toBe('platform_error');
  await works();
});

test('redis killed: nothing that was accepted is lost, everything comes back', async () => {
  const sessionId = await newSession(api);
  const { turnId } = await send(api, sessionId, 'Speak slowly.');
  await collect(api, sessionId, { enough: (event) => event.type === 'text.delta' });
  await kill('redis');
  await works();
  const { items } = await api.call<{ items: { turnId: string; status: string; text: string }[] }>(
    'GET',
    `/v1/sessions/${sessionId}/messages`,
  );
  const answer = items.find(
    (message) => message.turnId === turnId && message.status !== undefined && message.text.includes('word0'),
  );
  expect(answer).toBeDefined();
});

test('postgres killed in the middle of an answer: the session stays whole', async () => {
  const sessionId = await newSession(api);
  await send(api, sessionId, 'Speak slowly.');
  await collect(api, sessionId, { enough: (event) => event.type === 'text.delta' });
  await kill('postgres');
  await works();
  const events = await collect(api, sessionId, { timeoutMs: 30_000 });
  expect(events.map((event) => event.seq)).toEqual(events.map((_, at) => at + 1));
  expect(['turn.completed', 'turn.interrupted', 'turn.failed']).toContain(events.at(-1)?.type);
});

test('gateway killed in the middle of an answer: interrupted, the text kept, "continue" works', async () => {
  const sessionId = await newSession(api);
  await send(api, sessionId, 'Speak slowly.');
  await collect(api, sessionId, { enough: (event) => event.type === 'text.delta' });
  await kill('gateway');
  await expect
    .poll(async () => (await api.request('/readyz').catch(() => undefined))?.status, { timeout: 30_000, interval: 200 })
    .toBe(200);
  const events = await collect(api, sessionId, { timeoutMs: 20_000 });
  expect(events.at(-1)?.type).toBe('turn.interrupted');
  const kept = ofType(events, 'message.completed').at(-1)?.data as { text: string; status: string };
  expect(kept.status).toBe('interrupted');
  expect(kept.text).toBe(wordsOf(events));
  expect(kept.text).toContain('word0');
  const { seq } = await api.call<{ seq: number }>('POST', `/v1/sessions/${sessionId}/continue`);
  expect((await collect(api, sessionId, { after: seq })).at(-1)?.type).toBe('turn.completed');
});

test('the whole tree killed: up again finds all data, and no process of the old tree is left', async () => {
  const sessionId = await newSession(api);
  const before = await stack.status();
  process.kill(before.pid, 'SIGKILL');
  await stack.startAgain();
  const old = new Set(before.services.map((service) => service.pid));
  expect((await stack.status()).services.every((service) => !old.has(service.pid))).toBe(true);
  expect((await api.call<{ id: string }>('GET', `/v1/sessions/${sessionId}`)).id).toBe(sessionId);
  await works();
});

async function start(code: string): Promise<{ runId: string }> {
  const response = await api.request('/v1/code/execute', {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ code }),
  });
  expect(response.status).toBe(202);
  return (await response.json()) as { runId: string };
}

/** Until the program has printed something. */
async function outputOf(runId: string): Promise<void> {
  const response = await api.request(`/v1/runs/${runId}/events`, {
    headers: { accept: 'text/event-stream' },
    signal: AbortSignal.timeout(20_000),
  });
  for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    if (text.includes('stdout')) return;
  }
}
