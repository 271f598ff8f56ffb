import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@moli/errors';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Kysely } from 'kysely';
import type { Database } from '../database/schema.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { Metrics } from '../metrics.ts';
import { LOG_DB, REDIS } from '../tokens.ts';
import type { SessionEvent } from './event.schema.ts';
import { readWritten } from './events.store.ts';
import { type HeldSession, LogWriter, type WriterHost } from './log-writer.ts';
import type { PendingEvent } from './pending-event.ts';
import { eventChannel, toEvent, toLine } from './session-events.ts';
import { insertEvents } from './session-log.sql.ts';

/** Pieces of text wait this long before they are stored; measured as the best trade of latency and fsyncs. */
const TICK_MILLISECONDS = 50;
/**
 * A statement that took long is followed by a pause of so many times that, within bounds: with more streams than the machine can follow at this pace,
 * pieces are merged for longer, and starting turns find their way in between.
 */
const PAUSE_FACTOR = 4;
const MAX_TICK_MILLISECONDS = 250;
/** Bounds of one statement, so that a burst of one session does not hold up the others for long. */
const MAX_BATCH_EVENTS = 2_000;
const MAX_BATCH_CHARACTERS = 4 * 1024 * 1024;
/** How long events wait for a database that does not answer before their turns are given up, and between attempts. */
const GIVE_UP_MILLISECONDS = 60_000;
const RETRY_MILLISECONDS = 250;

/** What one writer contributes to a statement. */
interface Share {
  readonly writer: LogWriter;
  readonly events: PendingEvent[];
}

const staleFence = (): AppError =>
  new AppError('conflict', {
    zh: '这个会话已由另一个进程接管或已被删除。',
    en: 'This session was taken over by another process or deleted.',
  });

/**
 * The one way a turn writes into the session log: all sessions of the process share one statement every 50 ms, less often where statements take long.
 * Events are published after the commit,
 * so no reader ever saw one that a crash can take back.
 */
@Injectable()
export class SessionLog implements WriterHost, OnModuleDestroy {
  readonly #db: Kysely<Database>;
  readonly #redis: Redis;
  readonly #tenants: TenantDb;
  readonly #metrics: Metrics;
  /** Writers with something to store, and those of them that do not wait for the next tick. */
  readonly #dirty = new Set<LogWriter>();
  readonly #urgent = new Set<LogWriter>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #tickDue = false;
  #tick = TICK_MILLISECONDS;

  constructor(
    @Inject(LOG_DB) db: Kysely<Database>,
    @Inject(REDIS) redis: Redis,
    @Inject(TenantDb) tenants: TenantDb,
    @Inject(Metrics) metrics: Metrics,
  ) {
    this.#db = db;
    this.#redis = redis;
    this.#tenants = tenants;
    this.#metrics = metrics;
  }

  /** A writer for a session that this process has just taken. */
  open(held: HeldSession): LogWriter {
    return new LogWriter(this, held);
  }

  wake(writer: LogWriter, now: boolean): void {
    this.#dirty.add(writer);
    if (now) this.#urgent.add(writer);
    this.#schedule();
  }

  /** Tells live readers. Redis may be away: readers look into Postgres every few seconds anyway. */
  publish(events: readonly SessionEvent[]): void {
    if (events.length === 0 || this.#redis.status !== 'ready') return;
    const pipeline = this.#redis.pipeline();
    for (const event of events) pipeline.publish(eventChannel(event.sessionId), toLine(event).json);
    pipeline.exec().catch((error: Error) => log.warn('live events were not published', { error }));
  }

  /** Stores what is left; called when the turns of this process are over. */
  async onModuleDestroy(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#running || this.#dirty.size > 0) await (this.#running ?? this.#flush(this.#dirty));
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tickDue = true;
      this.#start();
    }, this.#tick);
    if (this.#urgent.size > 0) this.#start();
  }

  /** One statement at a time, and after the current turn of the loop: what is appended together is stored together. */
  #start(): void {
    this.#running ??= Promise.resolve()
      .then(() => this.#next())
      .finally(() => {
        this.#running = undefined;
        if (this.#tickDue || this.#urgent.size > 0) this.#start();
        else if (this.#dirty.size > 0) this.#schedule();
      });
  }

  /** All writers when their time has come, else those that do not wait: the pieces of the others go on being merged. */
  async #next(): Promise<void> {
    if (!this.#tickDue) return this.#flush(this.#urgent);
    this.#tickDue = false;
    const begun = performance.now();
    await this.#flush(this.#dirty);
    const pause = PAUSE_FACTOR * (performance.now() - begun);
    this.#tick = Math.min(MAX_TICK_MILLISECONDS, Math.max(TICK_MILLISECONDS, pause));
  }

  async #flush(writers: Set<LogWriter>): Promise<void> {
    const shares = this.#takeShares(writers);
    if (shares.length > 0) await this.#store(shares);
  }

  #takeShares(writers: Set<LogWriter>): Share[] {
    const shares: Share[] = [];
    let count = 0;
    let characters = 0;
    for (const writer of writers) {
      if (count >= MAX_BATCH_EVENTS || characters >= MAX_BATCH_CHARACTERS) {
        this.#tickDue = true;
        break;
      }
      this.#dirty.delete(writer);
      this.#urgent.delete(writer);
      const events = writer.take();
      if (events.length === 0) continue;
      count += events.length;
      for (const event of events) characters += typeof event.data.text === 'string' ? event.data.text.length : 256;
      shares.push({ writer, events });
    }
    return shares;
  }

  /** Stores shares until they are durable, refused or given up. */
  async #store(all: Share[]): Promise<void> {
    const giveUp = Date.now() + GIVE_UP_MILLISECONDS;
    let shares = all;
    for (let doubtful = false; ; ) {
      try {
        if (doubtful) shares = await this.#notYetWritten(shares);
        doubtful = true;
        await this.#insert(shares);
        return;
      } catch (error) {
        if (isDataError(error)) return this.#storeSingly(shares, error);
        log.error('the session log cannot be written, trying again', { error });
        if (Date.now() > giveUp) {
          for (const { writer } of shares) writer.refuse(unavailable(error));
          return;
        }
        await sleep(RETRY_MILLISECONDS);
      }
    }
  }

  async #insert(shares: readonly Share[]): Promise<void> {
    if (shares.length === 0) return;
    const addressed = shares.flatMap(({ writer: { held }, events }) =>
      events.map((event) => ({ sessionId: held.sessionId, fence: held.fence, event })),
    );
    const end = this.#metrics.eventFlushSeconds.startTimer();
    const numbers = await insertEvents(this.#db, addressed);
    end();
    const live: SessionEvent[] = [];
    let position = 0;
    for (const share of shares) {
      const own = numbers.slice(position, position + share.events.length);
      position += share.events.length;
      if (own.includes(undefined)) share.writer.refuse(staleFence());
      else live.push(...this.#accepted(share, own as number[]));
    }
    this.#metrics.eventsAppended.inc(live.length);
    this.publish(live);
  }

  #accepted({ writer, events }: Share, numbers: readonly number[]): SessionEvent[] {
    writer.stored(events.length, numbers.at(-1) as number);
    return events.map((event, i) => toEvent(writer.held.sessionId, numbers[i] as number, event));
  }

  /** One event that Postgres does not take must not fail the turns of other sessions. */
  async #storeSingly(shares: readonly Share[], error: unknown): Promise<void> {
    if (shares.length === 1) {
      const [share] = shares as [Share];
      log.error('events were refused by the database', { session: share.writer.held.sessionId, error });
      share.writer.refuse(unavailable(error));
      return;
    }
    for (const share of shares) await this.#store([share]);
  }

  /**
   * After a lost connection nobody knows whether the statement was committed. Each session is asked: a share is in the log as a whole or not at all.
   */
  async #notYetWritten(shares: readonly Share[]): Promise<Share[]> {
    const open: Share[] = [];
    for (const share of shares) {
      const { held, lastSeq } = share.writer;
      const written = await this.#tenants.as(held.tenantId, (tx) => readWritten(tx, held, lastSeq));
      if (written.length < share.events.length) open.push(share);
      else this.publish(this.#accepted(share, written));
    }
    return open;
  }
}

/** Class 22 of SQLSTATE: the statement reached the database and its data was refused. */
function isDataError(error: unknown): boolean {
  const code = (error as { code?: unknown })?.code;
  return typeof code === 'string' && code.startsWith('22');
}

const unavailable = (cause: unknown): AppError =>
  new AppError(
    'unavailable',
    {
      zh: '数据库没有响应，会话内容无法保存，这一轮已中断。数据库恢复后可以点“继续”。',
      en: 'The database does not answer, so the session could not be saved and the turn was given up. Continue it once the database is back.',
    },
    { cause },
  );
