import { readdirSync } from 'node:fs';
import { until } from '@moli/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { SessionEvent } from '../sessions/event.schema.ts';
import { Lease } from './lease.ts';
import { TurnLoop } from './turn-loop.ts';
import { isTurnEnd, type TurnWorld, textOf, turnWorld } from './turns.fixture.ts';

/** Written over more than a second, in pieces of one character. */
const LONG_ANSWER = '一二三四五六七八九十'.repeat(12);

let world: TurnWorld;

beforeAll(async () => {
  world = await turnWorld([
    {
      user: '慢',
      tool: false,
      times: 1,
      reply: { steps: [{ text: '一二三四五六七八九十'.repeat(6), piece: 1, delayMs: 25 }] },
    },
    { user: '断断续续', reply: { steps: [{ text: LONG_ANSWER, piece: 1, delayMs: 25 }] } },
    { user: 'hang', reply: { steps: [{ text: 'Half a sentence and then' }, { hang: true }] } },
    { user: 'Go on writing', reply: { steps: [{ text: ' the other half.' }] } },
    {
      user: 'sum',
      tool: false,
      reply: { steps: [{ text: 'I work it out.' }, { call: { name: 'calculate', arguments: { expression: '6*7' } } }] },
    },
    { user: 'sum', tool: true, reply: { steps: [{ text: 'It is 42.' }] } },
    { user: 'array', tool: false, reply: { steps: [{ call: { name: 'calculate', arguments: '[1,2]' } }] } },
    { user: 'array', tool: true, reply: { steps: [{ text: 'Sorry.' }] } },
    { user: 'endless', reply: { steps: [{ call: { name: 'calculate', arguments: { expression: '1+1' } } }] } },
    {
      user: 'broken',
      reply: ({ messages }) => ({ steps: [{ call: { name: 'calculate', arguments: `{"expr ${messages.length}` } }] }),
    },
    {
      user: 'many steps',
      reply: ({ messages }) => ({
        steps: [{ text: 'Next. ' }, { call: { name: 'calculate', arguments: { expression: `1+${messages.length}` } } }],
      }),
    },
    { user: 'cut', reply: { steps: [{ text: 'Half a sentence' }, { cut: true }] } },
    { user: 'run', tool: false, reply: { steps: [{ call: { name: 'run_python', arguments: { code: 'print(1)' } } }] } },
    { reply: { steps: [{ text: 'Hello there.' }] } },
  ]);
});
afterAll(() => world.close());

const numbers = (events: readonly SessionEvent[]): number[] => events.map(({ seq }) => seq);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
/** Types in order; pieces of one text count as one. */
const types = (events: readonly SessionEvent[]): string[] =>
  events.map(({ type }) => type).filter((type, i, all) => type !== 'text.delta' || all[i - 1] !== type);
const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type);
const requestsWith = (text: string) => world.model.requests.filter(({ body }) => JSON.stringify(body).includes(text));

const idle = (sessionId: string): Promise<unknown> =>
  until(async () => !(await world.ask(`/v1/sessions/${sessionId}`)).json.running, { what: 'the session is idle' });

/** Sends a message and reads to the end of its turn. */
async function turn(sessionId: string, text: string, after = 0): Promise<SessionEvent[]> {
  const { status, json } = await world.send(sessionId, text);
  expect(status).toBe(202);
  return world.follow(sessionId, (event) => isTurnEnd(event) && event.turnId === json.turnId, { after });
}

describe('a turn', () => {
  test('goes from message to answer in the order that readers rely on', async () => {
    const sessionId = await world.newSession();
    const events = await turn(sessionId, '你好');
    expect(types(events)).toEqual([
      'message.created',
      'session.updated',
      'turn.started',
      'text.delta',
      'message.completed',
      'turn.completed',
    ]);
    expect(numbers(events)).toEqual(upTo(events.length));
    expect(ofType(events, 'message.completed')[0]?.data).toMatchObject({ text: 'Hello there.', status: 'completed' });
    expect(ofType(events, 'turn.completed')[0]?.data.usage.steps).toBe(1);
    const { json } = await world.ask(`/v1/sessions/${sessionId}`);
    await idle(sessionId);
    expect(json).toMatchObject({ title: '你好', lastSeq: events.length });
    const messages = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(messages.items.map(({ role, text, status }: Record<string, string>) => [role, text, status])).toEqual([
      ['user', '你好', 'completed'],
      ['assistant', 'Hello there.', 'completed'],
    ]);
  });

  test('runs a tool and gives its result to the model, as one unit', async () => {
    const sessionId = await world.newSession();
    const events = await turn(sessionId, 'sum please');
    const call = ofType(events, 'tool.call')[0]?.data;
    expect(call).toMatchObject({ name: 'calculate', arguments: { expression: '6*7' }, trigger: 'I work it out.' });
    expect(ofType(events, 'tool.result')[0]?.data).toMatchObject({ callId: call?.callId, ok: true });
    expect(ofType(events, 'message.completed')[0]?.data.text).toBe('I work it out.It is 42.');
    const last = world.model.requests.at(-1)?.body.messages ?? [];
    expect(last.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(last[2]?.tool_calls?.[0]?.id).toBe(last[3]?.tool_call_id);
    // The next turn sends the same unit again.
    await turn(sessionId, 'thanks');
    const next = world.model.requests.at(-1)?.body.messages ?? [];
    expect(next.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test('an array in place of arguments goes back to the model with the fault, and the turn goes on', async () => {
    const events = await turn(await world.newSession(), 'array please');
    expect(ofType(events, 'tool.result')[0]?.data).toMatchObject({ ok: false, error: { code: 'bad_arguments' } });
    expect(events.at(-1)?.type).toBe('turn.completed');
    expect(JSON.stringify(world.model.requests.at(-1)?.body.messages.at(-1))).toMatch(/must be a JSON object/);
  });

  test.each([
    ['endless', 'identical_calls', 2],
    ['broken', 'bad_arguments', 3],
  ])('%s calls end the turn with a reason, and the session is usable at once', async (text, bound, results) => {
    const sessionId = await world.newSession();
    const events = await turn(sessionId, text);
    expect(ofType(events, 'turn.failed')[0]?.data.problem).toMatchObject({ code: 'turn_limit', bound });
    expect(ofType(events, 'tool.result')).toHaveLength(results);
    const next = await turn(sessionId, 'hello', events.at(-1)?.seq);
    expect(next.at(-1)?.type).toBe('turn.completed');
  });

  test.each([
    ['steps', 'many steps', { steps: 2 }],
    ['wall_time', 'hang until the bound', { wallSeconds: 0.3 }],
    ['tokens', 'many steps', { tokens: 10 }],
  ])('the bound of %s ends a turn with its text and a reason', async (bound, text, changed) => {
    const loop = world.gateway.app.get(TurnLoop);
    const usual = loop.bounds;
    loop.bounds = { ...usual, ...changed };
    const events = await turn(await world.newSession(), text).finally(() => {
      loop.bounds = usual;
    });
    const { problem } = ofType(events, 'turn.failed')[0]?.data ?? {};
    expect(problem).toMatchObject({ code: 'turn_limit', bound, detail: { zh: expect.stringContaining('继续') } });
    expect(ofType(events, 'message.completed')[0]?.data).toMatchObject({ status: 'failed', text: textOf(events) });
    expect(textOf(events)).not.toBe('');
  });

  test('a cut answer keeps its text, fails with a sentence, and can be continued', async () => {
    const sessionId = await world.newSession();
    const events = await turn(sessionId, 'cut please');
    expect(ofType(events, 'message.completed')[0]?.data).toMatchObject({ text: 'Half a sentence', status: 'failed' });
    expect(ofType(events, 'turn.failed')[0]?.data.problem).toMatchObject({ code: 'model_cut' });
    const { items } = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(items[1]).toMatchObject({ status: 'failed', problem: { code: 'model_cut' } });
    await idle(sessionId);
    expect((await world.ask(`/v1/sessions/${sessionId}/continue`, { body: {} })).status).toBe(202);
    const more = await world.follow(sessionId, isTurnEnd, { after: events.at(-1)?.seq });
    expect(ofType(more, 'turn.started')[0]?.data.continues).toBe(items[1].id);
    expect(ofType(more, 'message.completed')[0]?.data).toMatchObject({
      text: 'Half a sentence the other half.',
      status: 'completed',
    });
    expect(textOf([...events, ...more], items[1].id)).toBe('Half a sentence the other half.');
  });

  test('a reader who leaves changes nothing, and one who comes back misses nothing', async () => {
    const sessionId = await world.newSession();
    const before = requestsWith('慢慢说').length;
    await world.send(sessionId, '慢慢说');
    const whole = world.follow(sessionId, isTurnEnd);
    const parts: SessionEvent[] = [];
    for (let cuts = 0; ; cuts += 1) {
      const leave = new AbortController();
      const got = await world.follow(
        sessionId,
        (event) => {
          if (event.type === 'text.delta' && cuts < 12) return true;
          return isTurnEnd(event);
        },
        { after: parts.at(-1)?.seq ?? 0, signal: leave.signal },
      );
      parts.push(...got);
      const last = parts.at(-1);
      if (last && isTurnEnd(last)) break;
    }
    const undisturbed = await whole;
    expect(parts).toEqual(undisturbed);
    expect(textOf(parts)).toBe('一二三四五六七八九十'.repeat(6));
    expect(requestsWith('慢慢说').length - before).toBe(1);
  });
});

describe('files', () => {
  const CSV = '日期,销售额\n2026-01-01,100\n2026-01-02,secret-cell-4711\n';
  async function upload(sessionId: string, name: string, text: string): Promise<string> {
    const form = new FormData();
    form.set('file', new Blob([text], { type: 'text/csv' }), name);
    form.set('sessionId', sessionId);
    const response = await fetch(`${world.gateway.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}` },
      body: form,
    });
    const body = (await response.json()) as { id: string };
    expect(response.status, JSON.stringify(body)).toBe(201);
    return body.id;
  }

  test('are told to the model by name and columns, never by content, and belong to the message', async () => {
    const sessionId = await world.newSession();
    const fileId = await upload(sessionId, '销售.csv', CSV);
    const { json } = await world.send(sessionId, 'look at it', { fileIds: [fileId] });
    await world.follow(sessionId, (event) => isTurnEnd(event) && event.turnId === json.turnId);
    const request = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(request).toContain('销售.csv');
    expect(world.model.requests.at(-1)?.body.messages.at(-1)?.content).toBe('look at it\n\n[销售.csv]');
    expect(request).toContain('销售额');
    expect(request).not.toContain('4711');
    const { items } = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(items[0].files).toEqual([
      { id: fileId, name: '销售.csv', bytes: Buffer.byteLength(CSV), mimeType: expect.any(String) },
    ]);
    expect((await world.ask(`/v1/sessions/${sessionId}/files`)).json.files.map(({ id }: { id: string }) => id)).toEqual(
      [fileId],
    );
    const other = await world.newSession();
    expect((await world.send(other, 'steal', { fileIds: [fileId] })).status).toBe(404);
  });

  test('a question that is too long for the model by itself is refused with a sentence, and the session goes on', async () => {
    const sessionId = await world.newSession();
    const events = await turn(sessionId, '长'.repeat(60_000));
    expect(ofType(events, 'turn.failed')[0]?.data.problem).toMatchObject({ code: 'context_overflow' });
    const next = await turn(sessionId, 'hello', events.at(-1)?.seq);
    expect(next.at(-1)?.type).toBe('turn.completed');
  });

  test('leave no object behind when their session is deleted', async () => {
    const sessionId = await world.newSession();
    const before = countObjects();
    await upload(sessionId, 'a.csv', CSV);
    expect(countObjects()).toBeGreaterThan(before);
    expect((await world.ask(`/v1/sessions/${sessionId}`, { method: 'DELETE' })).status).toBe(204);
    expect(countObjects()).toBe(before);
  });
});

describe('sending', () => {
  test('the same clientMessageId five times in parallel is one message, one turn and five equal answers', async () => {
    const sessionId = await world.newSession();
    const answers = await Promise.all(upTo(5).map(() => world.send(sessionId, 'once', { clientMessageId: 'c-1' })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    await world.follow(sessionId, isTurnEnd);
    await idle(sessionId);
    const events = await world.events(sessionId);
    expect(ofType(events, 'message.created')).toHaveLength(1);
    expect(ofType(events, 'turn.started')).toHaveLength(1);
  });

  test('20 messages by HTTP and WebSocket in turn: no hole, one order for every reader, each answered in that order', async () => {
    const sessionId = await world.newSession();
    const socket = await openSocket();
    socket.setMaxListeners(30);
    const seen: SessionEvent[] = [];
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (frame.type === 'event') seen.push({ ...frame, type: frame.event });
    });
    socket.send(JSON.stringify({ type: 'subscribe', sessionId, after: 0 }));
    const sent: Promise<{ seq: number; messageId: string }>[] = [];
    for (let i = 0; i < 20; i += 1) {
      if (i % 2) sent.push(sendOnSocket(socket, sessionId, `message ${i}`, `c${i}`));
      else sent.push(world.send(sessionId, `message ${i}`, { clientMessageId: `c${i}` }).then(({ json }) => json));
    }
    const accepted = await Promise.all(sent);
    const events: SessionEvent[] = await world.follow(
      sessionId,
      (() => {
        let ends = 0;
        return (event: SessionEvent) => isTurnEnd(event) && ++ends === 20;
      })(),
    );
    expect(numbers(events)).toEqual(upTo(events.length));
    const created = ofType(events, 'message.created');
    expect(created).toHaveLength(20);
    const byAcceptance = [...accepted].sort((a, b) => a.seq - b.seq).map(({ messageId }) => messageId);
    expect(created.map(({ data }) => data.messageId)).toEqual(byAcceptance);
    const started = ofType(events, 'turn.started').map(({ turnId }) => turnId);
    expect(started).toEqual(created.map(({ turnId }) => turnId));
    await until(() => seen.length === events.length, { what: 'all events on the socket' });
    expect(numbers(seen)).toEqual(numbers(events));
    expect(await world.events(sessionId)).toEqual(events);
    socket.close();
  });

  test('what is not right is refused with the field, and foreign ids do not exist', async () => {
    const sessionId = await world.newSession();
    expect((await world.send(sessionId, '  ')).json).toMatchObject({ status: 400, code: 'bad_request' });
    expect((await world.send(sessionId, 'x', { extra: 1 })).json.detail).toMatch(/extra/);
    const other = (await world.gateway.newTenant('Other')).keys.owner;
    const foreign = await world.ask(`/v1/sessions/${sessionId}/messages`, { key: other, body: { text: 'x' } });
    expect(foreign.status).toBe(404);
    expect((await world.ask(`/v1/sessions/${sessionId}/events`, { key: other })).status).toBe(404);
  });
});

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
    await idle(sessionId);
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
    const events = await turn(sessionId, 'first wording');
    const messageId = ofType(events, 'message.created')[0]?.data.messageId;
    await idle(sessionId);
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
    await idle(sessionId);
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

const countObjects = (): number =>
  readdirSync(world.gateway.config.objectsDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;

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

async function openSocket(): Promise<WebSocket> {
  const socket = new WebSocket(`${world.gateway.url.replace('http', 'ws')}/v1/ws`);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const ready = new Promise((resolve) => socket.once('message', resolve));
  socket.send(JSON.stringify({ type: 'auth', key: world.key }));
  expect(JSON.parse(String(await ready))).toEqual({ type: 'ready' });
  return socket;
}

function sendOnSocket(
  socket: WebSocket,
  sessionId: string,
  text: string,
  clientMessageId: string,
): Promise<{ seq: number; messageId: string }> {
  return new Promise((resolve) => {
    const onMessage = (data: unknown): void => {
      const frame = JSON.parse(String(data));
      if (frame.type !== 'accepted' || frame.clientMessageId !== clientMessageId) return;
      socket.off('message', onMessage);
      resolve(frame);
    };
    socket.on('message', onMessage);
    socket.send(JSON.stringify({ type: 'send', sessionId, text, clientMessageId }));
  });
}
