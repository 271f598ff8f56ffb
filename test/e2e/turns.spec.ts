import type { ModelServer, Script } from '@moli/scripted-model';
import { afterEach, expect, test } from 'vitest';
import type { SessionEvent } from '../../infra/launcher/demo/client.ts';
import { collect, longAnswer, newSession, ofType, playModel, runsProgram, send, wordsOf } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

const stack = Stack.shared();
const api = stack.api();
let model: ModelServer | undefined;
afterEach(() => model?.stop());

async function play(script: Script): Promise<ModelServer> {
  model = await playModel(script);
  return model;
}

test('a reader that drops again and again misses nothing and sees nothing twice', async () => {
  await play(longAnswer(150, 15));
  const sessionId = await newSession(api);
  await send(api, sessionId, 'Tell me a lot.');
  const events: SessionEvent[] = [];
  let ended = false;
  while (!ended) {
    // Each reader leaves after four events.
    let left = 4;
    const after = events.at(-1)?.seq ?? 0;
    events.push(
      ...(await collect(api, sessionId, { after, enough: (event) => --left === 0 || event.type === 'turn.completed' })),
    );
    ended = events.at(-1)?.type === 'turn.completed';
  }
  expect(events.map((event) => event.seq)).toEqual(events.map((_, at) => at + 1));
  const whole = ofType(events, 'message.completed').at(-1)?.data.text;
  expect(wordsOf(events)).toBe(whole);
  expect(whole).toContain('word149');
  expect(model?.requests.length).toBe(1);
});

test('stop closes the connection to the model, keeps the text, and the session goes on', async () => {
  const server = await play([
    { user: 'more', reply: { steps: [{ text: 'Here is more.' }] } },
    ...longAnswer(2_000, 20),
  ]);
  const sessionId = await newSession(api);
  await send(api, sessionId, 'Go.');
  const before = await collect(api, sessionId, { enough: (event) => event.type === 'text.delta' });
  await api.call('POST', `/v1/sessions/${sessionId}/stop`);
  const rest = await collect(api, sessionId, { after: before.at(-1)?.seq });
  expect(rest.at(-1)?.type).toBe('turn.stopped');
  await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  const kept = ofType(rest, 'message.completed').at(-1)?.data as { text: string; status: string };
  expect(kept.status).toBe('stopped');
  expect(kept.text).toBe(wordsOf([...before, ...rest]));
  const { seq } = await send(api, sessionId, 'And more?');
  expect(wordsOf(await collect(api, sessionId, { after: seq }))).toBe('Here is more.');
});

test('stop ends a program that runs', async () => {
  await play(runsProgram('import time\nprint("started", flush=True)\ntime.sleep(25)\n'));
  const sessionId = await newSession(api);
  await send(api, sessionId, 'Run it.');
  const before = await collect(api, sessionId, { enough: (event) => event.type === 'run.output' });
  await api.call('POST', `/v1/sessions/${sessionId}/stop`);
  const rest = await collect(api, sessionId, { after: before.at(-1)?.seq, timeoutMs: 10_000 });
  expect(rest.at(-1)?.type).toBe('turn.stopped');
  const runId = before.find((event) => event.type === 'run.output')?.data.runId;
  await expect
    .poll(async () => (await api.call<{ verdict: string }>('GET', `/v1/runs/${runId}`)).verdict)
    .toBe('cancelled');
});

test('a run can be run again: same code, same files, a new run', async () => {
  await play(runsProgram('print(open("numbers.csv").read())\nprint(6 * 7)\n'));
  const sessionId = await newSession(api);
  await api.upload(Buffer.from('a,b\n1,2\n'), 'numbers.csv', sessionId);
  await send(api, sessionId, 'Run it.');
  const events = await collect(api, sessionId);
  const runId = ofType(events, 'tool.result')[0]?.data.runId;
  const again = await api.call<{ runId: string; verdict: string; stdout: string }>('POST', `/v1/runs/${runId}/rerun`);
  expect(again).toMatchObject({ verdict: 'ok' });
  expect(again.runId).not.toBe(runId);
  expect(again.stdout).toBe((await api.call<{ stdout: string }>('GET', `/v1/runs/${runId}`)).stdout);
});

test('a message that comes while a turn runs has its own turn afterwards, in the order of acceptance', async () => {
  await play([
    { user: 'first', reply: { steps: [{ text: 'one '.repeat(40), piece: 4, delayMs: 20 }] } },
    { user: 'second', reply: { steps: [{ text: 'two' }] } },
    { user: 'third', reply: { steps: [{ text: 'three' }] } },
  ]);
  const sessionId = await newSession(api);
  const accepted = [
    await send(api, sessionId, 'first'),
    await send(api, sessionId, 'second'),
    await send(api, sessionId, 'third'),
  ];
  let ends = 0;
  const events = await collect(api, sessionId, { enough: (event) => event.type === 'turn.completed' && ++ends === 3 });
  expect(ofType(events, 'turn.started').map((event) => event.turnId)).toEqual(accepted.map(({ turnId }) => turnId));
  expect(wordsOf(events, accepted[2]?.turnId)).toBe('three');
});

test('the same clientMessageId, five times at once, is one message and one turn', async () => {
  await play([{ reply: { steps: [{ text: 'Once.' }] } }]);
  const sessionId = await newSession(api);
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => send(api, sessionId, 'Hello.', { clientMessageId: 'the-same' })),
  );
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  const events = await collect(api, sessionId);
  expect(ofType(events, 'message.created').filter((event) => event.data.role === 'user')).toHaveLength(1);
  expect(model?.requests.length).toBe(1);
});
