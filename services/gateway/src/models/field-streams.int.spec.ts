import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startExecutor, type TestExecutor } from '../runs/runs.fixture.ts';
import type { EventData, SessionEvent } from '../sessions/event.schema.ts';
import { isTurnEnd, type TurnWorld, turnWorld } from '../turns/turns.fixture.ts';

/** The streams from the field once more, through whole turns: what a person sees, and what runs in the sandbox. */
const FOLDER = fileURLToPath(new URL('../../../../test/cases/streams/', import.meta.url));
const NAMES = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sse'))
  .map((file) => file.replace('.sse', ''));

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}
interface Expectation {
  text?: string;
  textNotContains?: string;
  reasoning?: string;
  calls?: Call[];
  callsOneOf?: Call[][];
  mustSay?: string;
  mustNotRun?: boolean;
}
const EXPECTED: Record<string, Expectation> = JSON.parse(readFileSync(`${FOLDER}expect.json`, 'utf8'));
/** Said after a tool's result, so that turns with calls end. */
const AFTER_TOOL = '（完）';

let world: TurnWorld;
let executor: TestExecutor;
beforeAll(async () => {
  world = await turnWorld(
    NAMES.flatMap((name) => [
      { user: `[${name}]`, tool: false, reply: { sse: readFileSync(`${FOLDER}${name}.sse`, 'utf8'), piece: 97 } },
      { user: `[${name}]`, tool: true, reply: { steps: [{ text: AFTER_TOOL }] } },
    ]),
  );
  executor = await startExecutor(world.gateway.redis.url);
});
afterAll(async () => {
  await executor?.stop();
  await world?.close();
});

const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T): EventData<T>[] =>
  events.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []));

test.each(NAMES)('%s', async (name) => {
  const wanted = EXPECTED[name]!;
  const sessionId = await world.newSession();
  expect((await world.send(sessionId, `[${name}]`)).status).toBe(202);
  const events = await world.follow(sessionId, isTurnEnd);
  const [message] = ofType(events, 'message.completed');
  const text = message?.text.replace(AFTER_TOOL, '');
  const ran = (await world.ask(`/v1/runs?sessionId=${sessionId}`)).json.items.length as number;
  const results = ofType(events, 'tool.result');
  const calls = ofType(events, 'tool.call')
    .filter(({ callId }) => results.find((result) => result.callId === callId)?.error?.code !== 'bad_arguments')
    .map((call) => ({ name: call.name, arguments: call.arguments }));

  if (wanted.text !== undefined) expect(text).toBe(wanted.text);
  if (wanted.textNotContains) expect(text).not.toContain(wanted.textNotContains);
  if (wanted.reasoning !== undefined) expect(message?.reasoning).toBe(wanted.reasoning);
  if (wanted.calls) expect(calls).toEqual(wanted.calls);
  if (wanted.callsOneOf) expect(wanted.callsOneOf).toContainEqual(calls);
  if (wanted.mustNotRun) expect(ran).toBe(0);
  expect(ran).toBe(calls.length);
  if (wanted.mustSay) {
    expect(events.at(-1)?.type).toBe('turn.failed');
    const { detail } = ofType(events, 'turn.failed')[0]!.problem;
    expect(detail.zh).toContain(wanted.mustSay);
    expect(detail.en).toContain(wanted.mustSay);
    expect(message?.status).toBe('failed');
  } else {
    expect(events.at(-1)?.type).toBe('turn.completed');
    expect(message?.status).toBe('completed');
  }
  expect(JSON.stringify(events)).not.toContain('9007199254740992');
});
