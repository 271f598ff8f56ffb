import { freshDatabase, startRedis } from '@moli/testing';
import { Redis } from 'ioredis';
import type { Kysely } from 'kysely';
import type pg from 'pg';
import { kyselyOf, makePool } from '../database/pools.ts';
import type { Database } from '../database/schema.ts';
import { TenantDb } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import { Metrics } from '../metrics.ts';
import { EventFeed } from './event-feed.ts';
import type { HeldSession } from './log-writer.ts';
import { type EventLine } from './session-events.ts';
import { SessionLog } from './session-log.ts';
import { SessionsStore } from './sessions.store.ts';

/** What one gateway process has of the session log. */
export interface LogProcess {
  readonly db: TenantDb;
  readonly logDb: Kysely<Database>;
  readonly redis: Redis;
  readonly log: SessionLog;
  readonly feed: EventFeed;
  /** The pool of moli_log, to break it on purpose. */
  readonly logPool: pg.Pool;
  close(): Promise<void>;
}

/** Real Postgres and Redis of the test's own, with one tenant and its agent. */
export interface LogWorld {
  readonly tenantId: string;
  readonly agentId: string;
  readonly caller: Caller;
  readonly redisUrl: string;
  readonly databaseUrls: { readonly app: string; readonly log: string; readonly owner: string };
  process(): LogProcess;
  newSession(): Promise<string>;
  /** Takes a session as a gateway would. */
  hold(sessionId: string, owner?: string): Promise<HeldSession>;
  close(): Promise<void>;
}

function callerOf(tenantId: string): Caller {
  return { tenantId, userId: null, role: 'owner', keyId: null, actor: 'system', locale: 'en' };
}

export async function logWorld(): Promise<LogWorld> {
  const [database, redis] = await Promise.all([freshDatabase(), startRedis()]);
  const processes: LogProcess[] = [];
  const start = (): LogProcess => {
    const made = startProcess(database.appUrl, database.logUrl, redis.url);
    processes.push(made);
    return made;
  };
  const first = start();
  const tenantId = newId('ten');
  const agentId = newId('agt');
  const store = new SessionsStore();
  await first.db.as(tenantId, async (tx) => {
    await tx.insertInto('tenants').values({ id: tenantId, name: 'test' }).execute();
    await tx
      .insertInto('agents')
      .values({
        id: agentId,
        name: 'test',
        avatar: null,
        system_prompt: '',
        routing: JSON.stringify({ mode: 'fixed', modelConfigId: null }),
        tools: JSON.stringify(['run_python']),
        context: JSON.stringify({ maxTokens: null }),
      })
      .execute();
  });
  return {
    tenantId,
    agentId,
    caller: callerOf(tenantId),
    redisUrl: redis.url,
    databaseUrls: { app: database.appUrl, log: database.logUrl, owner: database.ownerUrl },
    process: start,
    newSession: async () => {
      const id = newId('ses');
      await first.db.as(tenantId, (tx) => store.insert(tx, { id, agent_id: agentId, user_id: null, title: '' }));
      return id;
    },
    hold: (sessionId, owner = '00000000-0000-4000-8000-000000000001') =>
      first.db.as(tenantId, async (tx) => {
        const session = await store.lock(tx, undefined, sessionId);
        if (!session) throw new Error('no such session');
        const fence = await store.take(tx, session, owner);
        return { tenantId, sessionId, fence, lastSeq: session.nextSeq - 1 };
      }),
    close: async () => {
      for (const one of processes) await one.close();
      await redis.stop();
      await database.drop();
    },
  };
}

function startProcess(appUrl: string, logUrl: string, redisUrl: string): LogProcess {
  const appPool = makePool({ url: appUrl, name: 'test', max: 5 });
  const logPool = makePool({ url: logUrl, name: 'test-log', max: 2 });
  const redis = new Redis(redisUrl);
  redis.on('error', () => {});
  const db = new TenantDb(appPool);
  const logDb = kyselyOf(logPool);
  const log = new SessionLog(logDb, redis, db, new Metrics());
  const feed = new EventFeed(redis);
  const close = async (): Promise<void> => {
    await log.onModuleDestroy();
    feed.onModuleDestroy();
    redis.disconnect();
    await Promise.all([appPool.end(), logPool.end()]);
  };
  return { db, logDb, redis, log, feed, logPool, close };
}

/** Reads lines until one satisfies `last`. */
export async function readUntil(
  reader: AsyncIterable<EventLine[]>,
  last: (line: EventLine) => boolean,
): Promise<EventLine[]> {
  const all: EventLine[] = [];
  for await (const lines of reader) {
    all.push(...lines);
    if (lines.some(last)) return all;
  }
  return all;
}
