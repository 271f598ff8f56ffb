import { readdirSync } from 'node:fs';
import { until } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { SessionEvent } from '../sessions/event.schema.ts';
import { TurnLoop } from './turn-loop.ts';
import { isTurnEnd, numbers, ofType, type TurnWorld, textOf, turnWorld, upTo } from './turns.fixture.ts';

let world: TurnWorld;

beforeAll(async () => {
  world = await turnWorld([
    {
      user: '慢',
      tool: false,
      times: 1,
      reply: { steps: [{ text: '一二三四五六七八九十'.repeat(6), piece: 1, delayMs: 25 }] },
    },
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
    { reply: { steps: [{ text: 'Hello there.' }] } },
  ]);
});
afterAll(() => world.close());

/** Types in order; pieces of one text count as one. */
const types = (events: readonly SessionEvent[]): string[] =>
  events.map(({ type }) => type).filter((type, i, all) => type !== 'text.delta' || all[i - 1] !== type);
const requestsWith = (text: string) => world.model.requests.filter(({ body }) => JSON.stringify(body).includes(text));

describe('a turn', () => {
  test('goes from message to answer in the order that readers rely on', async () => {
    const sessionId = await world.newSession();
    const events = await world.turn(sessionId, '你好');
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
    await world.idle(sessionId);
    expect(json).toMatchObject({ title: '你好', lastSeq: events.length });
    const messages = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(messages.items.map(({ role, text, status }: Record<string, string>) => [role, text, status])).toEqual([
      ['user', '你好', 'completed'],
      ['assistant', 'Hello there.', 'completed'],
    ]);
  });

  test('runs a tool and gives its result to the model, as one unit', async () => {
    const sessionId = await world.newSession();
    const events = await world.turn(sessionId, 'sum please');
    const call = ofType(events, 'tool.call')[0]?.data;
    expect(call).toMatchObject({ name: 'calculate', arguments: { expression: '6*7' }, trigger: 'I work it out.' });
    expect(ofType(events, 'tool.result')[0]?.data).toMatchObject({ callId: call?.callId, ok: true });
    expect(ofType(events, 'message.completed')[0]?.data.text).toBe('I work it out.It is 42.');
    const last = world.model.requests.at(-1)?.body.messages ?? [];
    expect(last.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(last[2]?.tool_calls?.[0]?.id).toBe(last[3]?.tool_call_id);
    // The next turn sends the same unit again.
    await world.turn(sessionId, 'thanks');
    const next = world.model.requests.at(-1)?.body.messages ?? [];
    expect(next.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test('an array in place of arguments goes back to the model with the fault, and the turn goes on', async () => {
    const events = await world.turn(await world.newSession(), 'array please');
    expect(ofType(events, 'tool.result')[0]?.data).toMatchObject({ ok: false, error: { code: 'bad_arguments' } });
    expect(events.at(-1)?.type).toBe('turn.completed');
    expect(JSON.stringify(world.model.requests.at(-1)?.body.messages.at(-1))).toMatch(/must be a JSON object/);
  });

  test.each([
    ['endless', 'identical_calls', 2],
    ['broken', 'bad_arguments', 3],
  ])('%s calls end the turn with a reason, and the session is usable at once', async (text, bound, results) => {
    const sessionId = await world.newSession();
    const events = await world.turn(sessionId, text);
    expect(ofType(events, 'turn.failed')[0]?.data.problem).toMatchObject({ code: 'turn_limit', bound });
    expect(ofType(events, 'tool.result')).toHaveLength(results);
    const next = await world.turn(sessionId, 'hello', events.at(-1)?.seq);
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
    const events = await world.turn(await world.newSession(), text).finally(() => {
      loop.bounds = usual;
    });
    const { problem } = ofType(events, 'turn.failed')[0]?.data ?? {};
    expect(problem).toMatchObject({ code: 'turn_limit', bound, detail: { zh: expect.stringContaining('继续') } });
    expect(ofType(events, 'message.completed')[0]?.data).toMatchObject({ status: 'failed', text: textOf(events) });
    expect(textOf(events)).not.toBe('');
  });

  test('a cut answer keeps its text, fails with a sentence, and can be continued', async () => {
    const sessionId = await world.newSession();
    const events = await world.turn(sessionId, 'cut please');
    expect(ofType(events, 'message.completed')[0]?.data).toMatchObject({ text: 'Half a sentence', status: 'failed' });
    expect(ofType(events, 'turn.failed')[0]?.data.problem).toMatchObject({ code: 'model_cut' });
    const { items } = (await world.ask(`/v1/sessions/${sessionId}/messages`)).json;
    expect(items[1]).toMatchObject({ status: 'failed', problem: { code: 'model_cut' } });
    await world.idle(sessionId);
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
    const events = await world.turn(sessionId, '长'.repeat(60_000));
    expect(ofType(events, 'turn.failed')[0]?.data.problem).toMatchObject({ code: 'context_overflow' });
    const next = await world.turn(sessionId, 'hello', events.at(-1)?.seq);
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
    await world.idle(sessionId);
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

const countObjects = (): number =>
  readdirSync(world.gateway.config.objectsDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;

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
