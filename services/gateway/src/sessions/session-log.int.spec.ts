import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newId } from '../ids.ts';
import type { SessionEvent } from './event.schema.ts';
import { readEvents } from './events.store.ts';
import type { LogWriter } from './log-writer.ts';
import type { EventLine } from './session-events.ts';
import { readSession } from './session-reader.ts';
import { type LogProcess, type LogWorld, logWorld, readUntil } from './sessions.fixture.ts';
import { SessionsStore } from './sessions.store.ts';

let world: LogWorld;
let one: LogProcess;
let two: LogProcess;

beforeAll(async () => {
  world = await logWorld();
  one = world.process();
  two = world.process();
});
afterAll(() => world.close());

const ids = () => ({ turnId: newId('turn'), messageId: newId('msg') });
const stored = (sessionId: string): Promise<SessionEvent[]> =>
  one.db.as(world.tenantId, (tx) => readEvents(tx, sessionId, 0, 100_000));
const textOf = (events: readonly SessionEvent[]): string =>
  events.map((event) => (event.type === 'text.delta' ? event.data.text : '')).join('');
const parsed = (lines: readonly EventLine[]): SessionEvent[] =>
  lines.map(({ json }) => JSON.parse(json) as SessionEvent);
const numbers = (events: readonly { seq: number }[]): number[] => events.map(({ seq }) => seq);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** Writes an answer piece by piece, giving the flusher time between pieces. */
async function writeAnswer(writer: LogWriter, pieces: readonly string[]): Promise<void> {
  const own = ids();
  for (const piece of pieces) {
    writer.piece('text.delta', piece, own);
    await new Promise(setImmediate);
  }
  writer.append('message.completed', { messageId: own.messageId, text: pieces.join(''), status: 'completed' }, own);
  await writer.settled();
}

describe('writing', () => {
  test('numbers have no holes, pieces are merged and the text is the same', async () => {
    const sessionId = await world.newSession();
    const writer = one.log.open(await world.hold(sessionId));
    const pieces = Array.from({ length: 2_000 }, (_, i) => `片${i} `);
    await writeAnswer(writer, pieces);
    const events = await stored(sessionId);
    expect(numbers(events)).toEqual(upTo(events.length));
    expect(events.length).toBeLessThan(500);
    expect(textOf(events)).toBe(pieces.join(''));
    expect(writer.lastSeq).toBe(events.length);
  });

  test('what others store at once does not part pieces that wait', async () => {
    const [busy, calm] = await Promise.all([world.newSession(), world.newSession()]);
    // Of its own: in the others a tick may be on its way.
    const { log } = world.process();
    const [starting, streaming] = [log.open(await world.hold(busy)), log.open(await world.hold(calm))];
    const own = ids();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      streaming.piece('text.delta', 'first ', own);
      await streaming.settled();
      for (const piece of ['one ', 'two ', 'three ']) {
        streaming.piece('text.delta', piece, own);
        starting.append('session.updated', { title: piece }, ids());
        await starting.settled();
      }
      expect(textOf(await stored(calm))).toBe('first ');
      vi.advanceTimersByTime(1_000);
      await streaming.settled();
    } finally {
      vi.useRealTimers();
    }
    expect((await stored(calm)).map(({ data }) => data)).toEqual([{ text: 'first ' }, { text: 'one two three ' }]);
  });

  test('many sessions of two processes at once: each log is whole', async () => {
    const sessions = await Promise.all(Array.from({ length: 12 }, () => world.newSession()));
    const pieces = Array.from({ length: 60 }, (_, i) => `${i},`);
    await Promise.all(
      sessions.map(async (id, i) => writeAnswer((i % 2 ? one : two).log.open(await world.hold(id)), pieces)),
    );
    for (const id of sessions) {
      const events = await stored(id);
      expect(numbers(events)).toEqual(upTo(events.length));
      expect(textOf(events)).toBe(pieces.join(''));
    }
  });

  test('a stale fence is refused, also beside the new holder in one statement', async () => {
    const sessionId = await world.newSession();
    const old = one.log.open(await world.hold(sessionId));
    const fresh = one.log.open(await world.hold(sessionId));
    const own = ids();
    old.piece('text.delta', 'old', own);
    fresh.piece('text.delta', 'new', own);
    await expect(old.settled()).rejects.toMatchObject({ code: 'conflict' });
    await fresh.settled();
    expect(old.refused.aborted).toBe(true);
    expect(textOf(await stored(sessionId))).toBe('new');
    expect(numbers(await stored(sessionId))).toEqual([1]);
  });

  test('a deleted session refuses its writer', async () => {
    const sessionId = await world.newSession();
    const writer = one.log.open(await world.hold(sessionId));
    await one.db.as(world.tenantId, (tx) => new SessionsStore().delete(tx, sessionId));
    writer.piece('text.delta', 'late', ids());
    await expect(writer.settled()).rejects.toMatchObject({ code: 'conflict' });
  });

  test('characters that jsonb refuses do not stop anyone', async () => {
    const sessionId = await world.newSession();
    const writer = one.log.open(await world.hold(sessionId));
    const own = ids();
    writer.beginAnswer();
    for (const piece of ['a\u0000b', '\ud83d', '\ude00', 'half \ud83d']) writer.piece('text.delta', piece, own);
    writer.append('tool.call', { callId: 'c', name: 'n', arguments: { code: '\u0000\udc00' }, trigger: '' }, own);
    await writer.settled();
    const events = await stored(sessionId);
    expect(textOf(events)).toBe('a\ufffdb😀half \ufffd');
    expect(writer.answer.text).toBe(textOf(events));
    expect(events.at(-1)?.data).toMatchObject({ arguments: { code: '\ufffd\ufffd' } });
  });

  test('a connection lost after the commit stores nothing twice', async () => {
    const sessionId = await world.newSession();
    const third = world.process();
    const writer = third.log.open(await world.hold(sessionId));
    const own = ids();
    writer.piece('text.delta', 'first ', own);
    await writer.settled();
    let broken = 0;
    const query = third.logPool.query.bind(third.logPool);
    const connect = third.logPool.connect.bind(third.logPool);
    // The statement reaches the server and is committed; its answer does not come back.
    third.logPool.connect = (async () => {
      const client = await connect();
      if (broken++ > 0) return client;
      const send = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      client.query = (async (...args: unknown[]) => {
        await send(...args);
        client.query = send as typeof client.query;
        throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
      }) as typeof client.query;
      return client;
    }) as typeof third.logPool.connect;
    third.logPool.query = query;
    writer.piece('text.delta', 'second ', own);
    await writer.settled();
    writer.piece('text.delta', 'third', own);
    await writer.settled();
    expect(broken).toBeGreaterThan(1);
    expect(textOf(await stored(sessionId))).toBe('first second third');
  });
});

describe('reading', () => {
  const open = (process: LogProcess, sessionId: string, after: number, signal: AbortSignal) =>
    readSession({ db: process.db, feed: process.feed }, world.tenantId, sessionId, after, signal);

  test('a reader cut 100 times in one answer, with lost live events, reads what an undisturbed one reads', async () => {
    const sessionId = await world.newSession();
    const writer = one.log.open(await world.hold(sessionId));
    const pieces = Array.from({ length: 600 }, (_, i) => `字${i};`);
    // Every seventh live event is lost on the way.
    let published = 0;
    const publish = one.redis.pipeline.bind(one.redis);
    one.redis.pipeline = ((...args: []) => {
      const pipeline = publish(...args);
      const send = pipeline.publish.bind(pipeline);
      pipeline.publish = ((channel: string, json: string) =>
        ++published % 7 === 0 ? pipeline : send(channel, json)) as typeof pipeline.publish;
      return pipeline;
    }) as typeof one.redis.pipeline;
    const still = new AbortController();
    const undisturbed = readUntil(open(two, sessionId, 0, still.signal), (line) => line.type === 'message.completed');
    const disturbed = (async () => {
      const all: EventLine[] = [];
      let cuts = 0;
      for (;;) {
        const cut = new AbortController();
        for await (const lines of open(two, sessionId, all.at(-1)?.seq ?? 0, cut.signal)) {
          // The connection breaks after the first of the lines: with more of them, a reader that lags behind is cut less often.
          const received = cuts < 100 ? lines.slice(0, 1) : lines;
          all.push(...received);
          if (received.at(-1)?.type === 'message.completed') return { all, cuts };
          if (cuts < 100) break;
        }
        cut.abort();
        cuts += 1;
      }
    })();
    const writing = (async () => {
      for (let i = 0; i < pieces.length; i += 5) {
        const own = { turnId: 'turn', messageId: 'msg' };
        for (const piece of pieces.slice(i, i + 5)) writer.piece('text.delta', piece, own);
        await writer.settled();
      }
      writer.append(
        'message.completed',
        { messageId: 'msg', text: pieces.join(''), status: 'completed' },
        { turnId: 'turn', messageId: 'msg' },
      );
      await writer.settled();
    })();
    const [whole, { all, cuts }] = await Promise.all([undisturbed, disturbed, writing]);
    one.redis.pipeline = publish;
    expect(cuts).toBeGreaterThanOrEqual(100);
    expect(all.map(({ json }) => JSON.parse(json))).toEqual(parsed(whole));
    expect(numbers(all)).toEqual(upTo(all.length));
    expect(textOf(parsed(all))).toBe(pieces.join(''));
  });

  test('a lost last event arrives all the same', async () => {
    const sessionId = await world.newSession();
    const writer = one.log.open(await world.hold(sessionId));
    const stop = new AbortController();
    const reading = readUntil(open(two, sessionId, 0, stop.signal), (line) => line.type === 'turn.interrupted');
    writer.piece('text.delta', 'x', { turnId: 't', messageId: 'm' });
    await writer.settled();
    const { pipeline } = one.redis;
    one.redis.pipeline = (() => ({ publish: () => {}, exec: async () => [] })) as unknown as typeof pipeline;
    writer.append('turn.interrupted', { reason: 'test' }, { turnId: 't', messageId: 'm' });
    await writer.settled();
    one.redis.pipeline = pipeline;
    expect(numbers(await reading)).toEqual([1, 2]);
  });

  test('a reader ends with the session', async () => {
    const sessionId = await world.newSession();
    const stop = new AbortController();
    const reading = readUntil(open(two, sessionId, 0, stop.signal), () => false);
    await one.db.as(world.tenantId, (tx) => new SessionsStore().delete(tx, sessionId));
    expect((await reading).map(({ type }) => type)).toEqual(['session.deleted']);
  });
});
