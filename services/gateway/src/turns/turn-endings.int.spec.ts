import { until } from '@moli/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Lease } from './lease.ts';
import { TurnLoop } from './turn-loop.ts';
import { isTurnEnd, numbers, ofType, type TurnWorld, textOf, turnWorld, upTo } from './turns.fixture.ts';

/** Written over more than a second, in pieces of one character. */
const LONG_ANSWER = '一二三四五六七八九十'.repeat(12);

let world: TurnWorld;

beforeAll(async () => {
  world = await turnWorld([
    { user: '断断续续', reply: { steps: [{ text: LONG_ANSWER, piece: 1, delayMs: 25 }] } },
    {
      user: 'slowly',
      tool: false,
      reply: {
        steps: [
          { text: 'word '.repeat(90), piece: 5, delayMs: 100 },
          { call: { name: 'calculate', arguments: { expression: '6*7' } } },
        ],
      },
    },
    { user: 'slowly', tool: true, reply: { steps: [{ text: 'It is 42.' }] } },
    { user: 'hang', reply: { steps: [{ text: 'Half a sentence and then' }, { hang: true }] } },
    { user: 'Go on writing', reply: { steps: [{ text: ' the other half.' }] } },
    {
      user: 'sum',
      tool: false,
      reply: { steps: [{ text: 'I work it out.' }, { call: { name: 'calculate', arguments: { expression: '6*7' } } }] },
    },
    { user: 'sum', tool: true, reply: { steps: [{ text: 'It is 42.' }] } },
    { user: 'run', tool: false, reply: { steps: [{ call: { name: 'run_python', arguments: { code: 'print(1)' } } }] } },
    { reply: { steps: [{ text: 'Hello there.' }] } },
  ]);
});
afterAll(() => world.close());

describe('stopping', () => {
  test('closes the upstream socket, keeps the text, and the message continues as one', async () => {
    const sessionId = await world.newSession();
    await world.send(sessionId, 'hang please');
    const begun = await world.follow(sessionId, ({ type }) => type === 'text.delta');
    const stopped = await world.ask(`/v1/sessions/${sessionId}/stop`, { method: 'POST' });
    expect(stopped).toMatchObject({ status: 202, json: { running: true } });
    const rest = await world.follow(sessionId, isTurnEnd, { after: begun.at(-1)?.seq });
    expect(ofType(rest, 'message.completed')[0]?.data).toMatchObject({
      text: 'Half a sentence and then',
      status: 'stopped',
    });
    const { usage } = ofType(rest, 'turn.stopped')[0]?.data ?? {};
    expect(usage?.promptTokens).toBeGreaterThan(0);
    expect(usage?.completionTokens).toBeGreaterThan(0);
    const upstream = world.model.requests.findLast(({ body }) => JSON.stringify(body).includes('hang please'));
    await until(() => upstream?.aborted === true, { what: 'the upstream socket closed' });
    await world.idle(sessionId);
    await world.ask(`/v1/sessions/${sessionId}/continue`, { body: {} });
    const more = await world.follow(sessionId, isTurnEnd, { after: rest.at(-1)?.seq });
    const { items } = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(items).toHaveLength(2);
    expect(items[1].text).toBe('Half a sentence and then the other half.');
    expect(ofType(more, 'message.completed')[0]?.data.text).toBe(textOf(await world.events(sessionId), items[1].id));
    expect((await world.ask(`/v1/sessions/${sessionId}/continue`, { body: {} })).json.code).toMatch(
      /conflict|turn_running/,
    );
  });

  test('an answer can be continued once readers know of its end, though the session is still held', async () => {
    const loop = world.gateway.app.get(TurnLoop);
    const run = loop.run.bind(loop);
    const letGo = Promise.withResolvers<void>();
    vi.spyOn(loop, 'run').mockImplementationOnce(async (...turn) => {
      await run(...turn);
      await letGo.promise;
    });
    const sessionId = await world.newSession();
    await world.send(sessionId, 'hang once more');
    await world.follow(sessionId, ({ type }) => type === 'text.delta');
    expect((await world.ask(`/v1/sessions/${sessionId}/continue`, { body: {} })).json.code).toBe('turn_running');
    await world.ask(`/v1/sessions/${sessionId}/stop`, { method: 'POST' });
    const stopped = await world.follow(sessionId, isTurnEnd);
    const goOn = () => world.ask(`/v1/sessions/${sessionId}/continue`, { body: {} });
    expect((await goOn()).status).toBe(202);
    // The second one waits behind the first.
    expect((await goOn()).json.code).toBe('turn_running');
    letGo.resolve();
    const more = await world.follow(sessionId, isTurnEnd, { after: stopped.at(-1)?.seq });
    expect(ofType(more, 'message.completed')[0]?.data.text).toBe('Half a sentence and then the other half.');
  });

  test('reaches a turn that runs in another gateway', async () => {
    const second = await world.second();
    const sessionId = await world.newSession();
    await world.send(sessionId, 'hang there');
    await world.follow(sessionId, ({ type }) => type === 'text.delta', { url: second.url });
    const stop = await fetch(`${second.url}/v1/sessions/${sessionId}/stop`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}` },
    });
    expect(await stop.json()).toEqual({ running: true });
    const events = await world.follow(sessionId, isTurnEnd, { url: second.url });
    expect(events.at(-1)?.type).toBe('turn.stopped');
  });

  test('a message sent again is answered anew in the place of the old answer', async () => {
    const sessionId = await world.newSession();
    const events = await world.turn(sessionId, 'first wording');
    const messageId = ofType(events, 'message.created')[0]?.data.messageId;
    await world.idle(sessionId);
    const again = await world.ask(`/v1/sessions/${sessionId}/messages/${messageId}/resend`, {
      body: { text: 'sum, second wording' },
    });
    expect(again.status).toBe(202);
    await world.follow(sessionId, isTurnEnd, { after: events.at(-1)?.seq });
    const { items } = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(items.map(({ text }: { text: string }) => text)).toEqual(['sum, second wording', 'I work it out.It is 42.']);
    const roles = world.model.requests.at(-1)?.body.messages.map(({ role }) => role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool']);
  });
});

describe('a gateway that is gone', () => {
  test('its turn ends as interrupted with its text, and can be continued', async () => {
    const second = await world.second();
    const sessionId = await world.newSession();
    await fetch(`${second.url}/v1/sessions/${sessionId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'hang on' }),
    });
    await world.follow(sessionId, ({ type }) => type === 'text.delta');
    // From the database's view it was not seen for longer than the lease: what a killed or frozen process looks like.
    const lease = second.app.get(Lease);
    lease.beat = async () => {};
    lease.sweep = async () => [];
    lease.sweepOrphans = async () => [];
    const events = await world.follow(sessionId, isTurnEnd);
    expect(ofType(events, 'turn.interrupted')[0]?.data.reason).toBe('gateway_lost');
    const text = 'Half a sentence and then';
    expect(ofType(events, 'message.completed')[0]?.data).toMatchObject({ text, status: 'interrupted' });
    expect(numbers(events)).toEqual(upTo(events.length));
    await world.idle(sessionId);
    expect((await world.ask(`/v1/sessions/${sessionId}/continue`, { body: {} })).status).toBe(202);
    const more = await world.follow(sessionId, isTurnEnd, { after: events.at(-1)?.seq });
    expect(ofType(more, 'message.completed')[0]?.data).toMatchObject({
      text: `${text} the other half.`,
      status: 'completed',
    });
    // The process that lost the session wrote no more into it.
    expect(await world.events(sessionId)).toEqual([...events, ...more]);
  });

  test('one that stops in order ends its turns itself and hands waiting messages over', async () => {
    const second = await world.second();
    const sessionId = await world.newSession();
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' };
    const body = (text: string) => JSON.stringify({ text });
    await fetch(`${second.url}/v1/sessions/${sessionId}/messages`, { method: 'POST', headers, body: body('hang on') });
    await world.follow(sessionId, ({ type }) => type === 'text.delta');
    await fetch(`${second.url}/v1/sessions/${sessionId}/messages`, {
      method: 'POST',
      headers,
      body: body('still there?'),
    });
    await second.app.close();
    const events = await world.follow(sessionId, ({ type }) => type === 'turn.completed');
    expect(ofType(events, 'turn.interrupted')[0]?.data.reason).toBe('shutdown');
    expect(ofType(events, 'message.completed').map(({ data }) => data.status)).toEqual(['interrupted', 'completed']);
  });

  test('one that has time to stop ends its turns for others to see, whoever else is there', async () => {
    const second = await world.second({ shutdownSeconds: 60 });
    const sessionId = await world.newSession();
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ text: 'slowly, please' });
    await fetch(`${second.url}/v1/sessions/${sessionId}/messages`, { method: 'POST', headers, body });
    await world.follow(sessionId, ({ type }) => type === 'text.delta');
    // Longer than a gateway that says nothing is waited for.
    await second.app.close();
    const events = await world.events(sessionId);
    expect(events.at(-1)?.type).toBe('turn.completed');
    expect(textOf(events)).toBe(`${'word '.repeat(90)}It is 42.`);
  }, 60_000);
});

describe('a database whose connections break', () => {
  test('loses nothing of an answer that is being written, and its readers see no hole', async () => {
    const sessionId = await world.newSession();
    await world.send(sessionId, '断断续续');
    const reading = world.follow(sessionId, isTurnEnd);
    await world.follow(sessionId, ({ type }) => type === 'text.delta');
    // A request that meets a broken connection is answered 503.
    const stored = async (): Promise<number> => ((await world.events(sessionId)) ?? []).length;
    for (let i = 0; i < 5; i += 1) {
      const length = await stored();
      await onDatabase((client) =>
        client.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        ),
      );
      await until(async () => (await stored()) > length, { what: 'the answer goes on' });
    }
    const events = await reading;
    expect(numbers(events)).toEqual(upTo(events.length));
    expect(textOf(events)).toBe(LONG_ANSWER);
    expect(events.at(-1)?.type).toBe('turn.completed');
  });
});

describe('deleting', () => {
  test('ends the turn and its run, tells the readers, and leaves no row', async () => {
    const sessionId = await world.newSession();
    await world.send(sessionId, 'run please');
    const reading = world.follow(sessionId, ({ type }) => type === 'session.deleted');
    await world.follow(sessionId, ({ type }) => type === 'run.queued');
    const deleted = await world.ask(`/v1/sessions/${sessionId}`, { method: 'DELETE' });
    expect(deleted.status).toBe(204);
    const events = await reading;
    expect(numbers(events)).toEqual(upTo(events.length));
    expect((await world.ask(`/v1/sessions/${sessionId}`)).status).toBe(404);
    expect((await world.ask(`/v1/sessions/${sessionId}`, { method: 'DELETE' })).status).toBe(404);
    const left = await rowsOf(sessionId);
    expect(left).toEqual({ events: 0, pending_inputs: 0, runs: 0 });
  });
});

async function onDatabase<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: world.gateway.database.ownerUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function rowsOf(sessionId: string): Promise<Record<string, number>> {
  return onDatabase(async (client) => {
    const counts: Record<string, number> = {};
    for (const table of ['events', 'pending_inputs', 'runs']) {
      const { rows } = await client.query(`select count(*)::int as n from ${table} where session_id = $1`, [sessionId]);
      counts[table] = rows[0].n;
    }
    return counts;
  });
}
