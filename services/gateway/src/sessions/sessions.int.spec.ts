import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '@moli/testing';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { TenantDb } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { Lease } from '../turns/lease.ts';
import { TurnRunner } from '../turns/turn-runner.ts';
import { isTurnEnd, type TurnWorld, turnWorld } from '../turns/turns.fixture.ts';
import { SessionLog } from './session-log.ts';
import { SessionsStore } from './sessions.store.ts';

let world: TurnWorld;
let key: string;

beforeAll(async () => {
  world = await turnWorld([{ reply: { steps: [{ text: '答案是茉莉花。' }] } }]);
  key = world.key;
});
afterAll(() => world.close());

/** Memory that is really in use. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function answered(text: string, body: object = {}): Promise<string> {
  const { json } = await world.ask('/v1/sessions', { body });
  await world.send(json.id, text);
  await world.follow(json.id, isTurnEnd);
  return json.id;
}
const list = async (query: string) => (await world.ask(`/v1/sessions?${query}`)).json;
const idsOf = (page: { items: { id: string }[] }): string[] => page.items.map(({ id }) => id);

describe('sessions', () => {
  test('are listed newest first, page by page, each once', async () => {
    const made = [];
    for (let i = 0; i < 5; i += 1) made.unshift(await world.newSession());
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await list(`limit=2${cursor ? `&cursor=${cursor}` : ''}`);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...idsOf(page));
      cursor = page.nextCursor ?? '';
    } while (cursor);
    expect(seen.slice(0, 5)).toEqual(made);
    expect(new Set(seen).size).toBe(seen.length);
    expect((await world.ask('/v1/sessions?cursor=nonsense')).json.code).toBe('bad_request');
  });

  test('are found by title, by question and by answer, and wildcards are letters', async () => {
    const byTitle = await answered('nothing of note', { title: '百分之 50%_off' });
    const byQuestion = await answered('please find the zebra here');
    expect(idsOf(await list(`q=${encodeURIComponent('50%_OFF')}`))).toEqual([byTitle]);
    expect(idsOf(await list('q=ZEBRA'))).toEqual([byQuestion]);
    expect(idsOf(await list(`q=${encodeURIComponent('茉莉花')}`))).toEqual([byQuestion, byTitle]);
    expect(idsOf(await list(`q=${encodeURIComponent('%zebra%')}`))).toEqual([]);
  });

  test('are found by a word of two characters, in the own tenant alone', async () => {
    const mine = await answered('去年的龙井卖得如何？');
    const other = await world.gateway.newTenant('Tea');
    const theirs = await world.gateway.ask('/v1/sessions', { key: other.keys.member, body: { title: '龙井' } });
    const found = async (asker: string) =>
      idsOf((await world.gateway.ask(`/v1/sessions?q=${encodeURIComponent('龙井')}`, { key: asker })).json);
    expect(await found(key)).toEqual([mine]);
    expect(await found(other.keys.member)).toEqual([theirs.json.id]);
  });

  test('are searched by the index of messages, not by reading all that was streamed', async () => {
    const sessionId = await answered('a long answer');
    const { database, app } = world.gateway;
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    const { rows } = await owner.query<{ tenant_id: string }>('select tenant_id from sessions where id = $1', [
      sessionId,
    ]);
    const tenantId = rows[0]!.tenant_id;
    await owner.query(
      `insert into events (tenant_id, session_id, seq, type, data)
       select $1, $2, 1000 + n, 'text.delta', '{"text": "x"}' from generate_series(1, 5000) n`,
      [tenantId, sessionId],
    );
    await owner.query('analyze events');
    await owner.end();
    const caller: Caller = { tenantId, userId: null, role: 'owner', keyId: null, actor: 'system', locale: 'en' };
    await app.get(TenantDb).as(tenantId, async (tx) => {
      // Of this connection since it last reported them: only the difference belongs to the search.
      const scans = async () => {
        const { rows } = await sql<{ messages: number; all: number }>`select
          pg_stat_get_xact_numscans('events_messages'::regclass)::int as messages,
          pg_stat_get_xact_numscans('events'::regclass)::int as all`.execute(tx);
        return rows[0]!;
      };
      const before = await scans();
      await app.get(SessionsStore).list(tx, caller, { text: 'nowhere', before: undefined, limit: 10 });
      const after = await scans();
      expect(after.all - before.all).toBe(0);
      expect(after.messages - before.messages).toBeGreaterThan(0);
    });
  });

  test('belong to the person who made them; what a program made is everyone’s', async () => {
    const tenant = await world.gateway.newTenant('People');
    const signIn = async () => {
      const { email, password } = await world.gateway.newPerson(tenant.id, 'member');
      const answer = await world.gateway.ask('/api/auth/sign-in/email', {
        body: { email, password },
        headers: { origin: world.gateway.url },
      });
      expect(answer.status).toBe(200);
      return answer.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';')[0])
        .join('; ');
    };
    const [ann, bob] = [await signIn(), await signIn()];
    const mine = (await world.gateway.ask('/v1/sessions', { cookie: ann, body: {} })).json.id;
    const shared = (await world.gateway.ask('/v1/sessions', { key: tenant.keys.member, body: {} })).json.id;
    const listOf = async (cookie: string) => idsOf((await world.gateway.ask('/v1/sessions', { cookie })).json);
    expect(await listOf(ann)).toEqual([shared, mine]);
    expect(await listOf(bob)).toEqual([shared]);
    for (const path of ['', '/messages', '/events', '/export', '/files']) {
      expect((await world.gateway.ask(`/v1/sessions/${mine}${path}`, { cookie: bob })).status, path).toBe(404);
    }
    expect((await world.gateway.ask(`/v1/sessions/${mine}`, { cookie: bob, method: 'DELETE' })).status).toBe(404);
  });

  test('are renamed with an event, and a message is edited by hand', async () => {
    const id = await answered('first');
    const renamed = await world.ask(`/v1/sessions/${id}`, { method: 'PATCH', body: { title: '新标题' } });
    expect(renamed.json.title).toBe('新标题');
    const { items } = (await world.ask(`/v1/sessions/${id}/messages`)).json;
    const edited = await world.ask(`/v1/sessions/${id}/messages/${items[1].id}`, {
      method: 'PATCH',
      body: { text: 'by hand' },
    });
    expect(edited.json).toMatchObject({ id: items[1].id, text: 'by hand', edited: true });
    const events = await world.events(id);
    expect(events.slice(-2).map(({ type, data }) => [type, data])).toEqual([
      ['session.updated', { title: '新标题' }],
      ['message.edited', { messageId: items[1].id, text: 'by hand' }],
    ]);
    await world.send(id, 'and then?');
    await world.follow(id, isTurnEnd, { after: events.at(-1)?.seq });
    expect(JSON.stringify(world.model.requests.at(-1)?.body.messages)).toContain('by hand');
  });

  test('are exported as Markdown and as JSON with every event', async () => {
    const id = await answered('export me', { title: '导出' });
    const markdown = await world.ask(`/v1/sessions/${id}/export?format=md`);
    expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(markdown.text).toMatch(/^# 导出\n.*export me.*答案是茉莉花。/s);
    const json = await world.ask(`/v1/sessions/${id}/export?format=json`);
    expect(json.json.events).toEqual(await world.events(id));
    expect(json.headers.get('content-disposition')).toContain("filename*=UTF-8''%E5%AF%BC%E5%87%BA.json");
    expect((await world.ask(`/v1/sessions/${id}/export?format=pdf`)).status).toBe(400);
  });
});

describe('events', () => {
  test('are a page of JSON when asked for, and a stream that resumes by Last-Event-ID', async () => {
    const id = await answered('hello');
    const all = await world.events(id);
    const page = await world.ask(`/v1/sessions/${id}/events?after=1&limit=2`, {
      headers: { accept: 'application/json' },
    });
    expect(page.json).toEqual({ items: all.slice(1, 3), lastSeq: 3 });
    const response = await fetch(`${world.gateway.url}/v1/sessions/${id}/events?after=0`, {
      headers: { authorization: `Bearer ${key}`, 'last-event-id': String(all.length - 1) },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('cache-control')).toContain('no-transform');
    const reader = response.body?.getReader();
    if (!reader) throw new Error('no body');
    let text = '';
    while (!text.includes('data: ')) text += Buffer.from((await reader.read()).value ?? []).toString('utf8');
    await reader.cancel();
    expect(text).toContain(`id: ${all.length}\ndata: ${JSON.stringify(all.at(-1))}\n\n`);
    expect(text).not.toContain(`id: ${all.length - 1}\n`);
  });

  test('still arrive when Redis was away, and live again afterwards', async () => {
    const id = await world.newSession();
    const admin = new Redis(world.gateway.redis.url);
    const reading = world.follow(id, isTurnEnd);
    await until(async () => ((await admin.pubsub('NUMSUB', `ev:${id}`)) as [string, number])[1] === 1, {
      what: 'the reader listens',
    });
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await world.send(id, 'hello');
    expect((await reading).at(-1)?.type).toBe('turn.completed');
    await admin.quit();
  });

  test('go to a reader that does not read without filling the gateway’s memory', async () => {
    const id = await world.newSession();
    const socket = new WebSocket(`${world.gateway.url.replace('http', 'ws')}/v1/ws`);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'auth', key }));
    socket.send(JSON.stringify({ type: 'subscribe', sessionId: id, after: 0 }));
    await new Promise((resolve) =>
      socket.on('message', (data) => String(data).includes('ready') && resolve(undefined)),
    );
    socket.pause();
    const { app } = world.gateway;
    const { tenant } = (await world.ask('/v1/me')).json;
    const store = new SessionsStore();
    const held = await app.get(TenantDb).as(tenant.id, async (tx) => {
      const session = await store.lock(tx, undefined, id);
      if (!session) throw new Error('no session');
      return {
        tenantId: tenant.id,
        sessionId: id,
        fence: await store.take(tx, session, app.get(Lease).gatewayId),
        lastSeq: session.nextSeq - 1,
      };
    });
    // Held by this gateway without a turn: nothing else may take it meanwhile.
    app.get(TurnRunner).setAside(id);
    const writer = app.get(SessionLog).open(held);
    const before = usedBytes();
    for (let i = 0; i < 400; i += 1) {
      writer.append(
        'run.output',
        { callId: 'c', runId: 'r', stream: 'stdout', text: 'x'.repeat(60_000) },
        { turnId: 't', messageId: 'm' },
      );
      if (i % 20 === 0) await writer.settled();
    }
    await writer.settled();
    // 24 MB were written. Once all of it has gone through, what waits for the reader is at most a page and what the socket holds.
    await until(() => usedBytes() - before < 12 * 1024 * 1024, { what: 'the memory is free again' });
    const seqs: number[] = [];
    socket.on('message', (data) => seqs.push(JSON.parse(String(data)).seq));
    socket.resume();
    await until(() => seqs.length >= 400, { what: 'the reader has caught up' });
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, i) => i + 1));
    socket.terminate();
  });
});

describe('the socket', () => {
  const connect = async (
    headers: Record<string, string> = {},
  ): Promise<{ socket: WebSocket; frames: Record<string, unknown>[] }> => {
    const socket = new WebSocket(`${world.gateway.url.replace('http', 'ws')}/v1/ws`, { headers });
    const frames: Record<string, unknown>[] = [];
    socket.on('message', (data) => frames.push(JSON.parse(String(data))));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return { socket, frames };
  };
  const closed = (socket: WebSocket): Promise<number> => new Promise((resolve) => socket.once('close', resolve));

  test('closes with 4401 on a wrong key, and when nobody says who they are', async () => {
    const wrong = await connect();
    wrong.socket.send(JSON.stringify({ type: 'auth', key: `moli_${'x'.repeat(40)}` }));
    const silent = await connect();
    expect(await Promise.all([closed(wrong.socket), closed(silent.socket)])).toEqual([4401, 4401]);
  });

  test('refuses a foreign page with a person’s cookie before the upgrade', async () => {
    const tenant = await world.gateway.newTenant('Sockets');
    const { email, password } = await world.gateway.newPerson(tenant.id, 'member');
    const signedIn = await world.gateway.ask('/api/auth/sign-in/email', {
      body: { email, password },
      headers: { origin: world.gateway.url },
    });
    const cookie = signedIn.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ');
    await expect(connect({ cookie, origin: 'https://evil.example' })).rejects.toThrow(/403/);
    const own = await connect({ cookie, origin: world.gateway.url });
    own.socket.send(JSON.stringify({ type: 'ping' }));
    await until(() => own.frames.length > 0, { what: 'the pong' });
    expect(own.frames).toEqual([{ type: 'pong' }]);
    own.socket.close();
  });

  test('ends when the key behind it is revoked', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const tenant = await world.gateway.newTenant('Revoked');
      const made = await world.gateway.ask('/v1/keys', { key: tenant.keys.owner, body: { name: 'short' } });
      expect(made.status).toBe(201);
      const { socket, frames } = await connect();
      socket.send(JSON.stringify({ type: 'auth', key: made.json.key }));
      await until(() => frames.length > 0, { what: 'the connection is open' });
      vi.advanceTimersByTime(20_000);
      socket.send(JSON.stringify({ type: 'ping' }));
      await until(() => frames.at(-1)?.type === 'pong', { what: 'still there' });
      await world.gateway.ask(`/v1/keys/${made.json.id}`, { key: tenant.keys.owner, method: 'DELETE' });
      const end = closed(socket);
      vi.advanceTimersByTime(20_000);
      expect(await end).toBe(4401);
    } finally {
      vi.useRealTimers();
    }
  });

  test('answers what is wrong with a frame by a frame, and goes on', async () => {
    const { socket, frames } = await connect();
    const foreign = `ses_${'0'.repeat(32)}`;
    for (const frame of [
      { type: 'auth', key },
      'no json',
      { type: 'nonsense' },
      { type: 'subscribe', sessionId: foreign },
      { type: 'send', sessionId: foreign, text: '', clientMessageId: 'c' },
      { type: 'ping' },
    ]) {
      socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
    }
    await until(() => frames.at(-1)?.type === 'pong', { what: 'the pong' });
    expect(frames.map(({ type, code }) => [type, code])).toEqual([
      ['ready', undefined],
      ['problem', 'bad_request'],
      ['problem', 'bad_request'],
      ['problem', 'not_found'],
      ['problem', 'bad_request'],
      ['pong', undefined],
    ]);
    expect(frames[4]).toMatchObject({ sessionId: foreign, clientMessageId: 'c' });
    socket.close();
  });
});
