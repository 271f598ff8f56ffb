import { randomUUID } from 'node:crypto';
import { RunStreamEntry, runEventsKey, wakeKey } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { REDIS } from '../tokens.ts';

/** Before everything. */
export const FROM_START = '0-0';
/** Entries of one run that are fetched at once. */
const BATCH = 200;
/** A blocked read is repeated after this even when nothing woke it: a lost connection must not be waited for for ever. */
const BLOCK_MS = 5_000;
/** Renewed while runs are followed; the key goes away by itself when this gateway does. */
const WAKE_TTL_MS = 60_000;
const WAKE_RENEW_MS = 20_000;
/** Entries that wait for a slow reader; it goes on from the stream itself when it has taken them. */
const BUFFERED = 400;

export interface StreamedEntry {
  /** Id in the Redis Stream; a reader resumes after it. */
  readonly id: string;
  readonly entry: RunStreamEntry;
}

type Listener = (streamed: StreamedEntry) => void;
interface Followed {
  cursor: string;
  readonly listeners: Map<Listener, string>;
}

/** Whether stream id `a` comes after `b`. */
export function isAfter(a: string, b: string): boolean {
  const [aMs = 0, aSeq = 0] = a.split('-').map(Number);
  const [bMs = 0, bSeq = 0] = b.split('-').map(Number);
  return aMs > bMs || (aMs === bMs && aSeq > bSeq);
}

/**
 * Live output of all runs that this gateway follows, over one blocking connection. A key of our own in the same read wakes it when the set of
 * followed runs changes. A listener that joins late makes the run's stream be read again from where it wants to start.
 */
@Injectable()
export class RunStreams implements OnModuleInit, OnApplicationShutdown {
  readonly #redis: Redis;
  readonly #wakeKey = wakeKey(randomUUID());
  readonly #followed = new Map<string, Followed>();
  #reader: Redis | null = null;
  #wakeCursor = FROM_START;
  #wakePending = false;
  #wakeRenewedAt = 0;
  #closed = false;

  constructor(@Inject(REDIS) redis: Redis) {
    this.#redis = redis;
  }

  onModuleInit(): void {
    this.#reader = this.#redis.duplicate({ maxRetriesPerRequest: null, connectionName: 'moli-gateway-runs' });
    this.#reader.on('error', () => {});
    void this.#loop(this.#reader);
  }

  onApplicationShutdown(): void {
    this.#closed = true;
    this.#reader?.disconnect();
  }

  /** Calls `listener` for every entry after `after`, in order, until the returned function is called. */
  follow(runId: string, after: string, listener: Listener): () => void {
    const known = this.#followed.get(runId);
    const followed = known ?? { cursor: after, listeners: new Map<Listener, string>() };
    followed.listeners.set(listener, after);
    if (isAfter(followed.cursor, after)) followed.cursor = after;
    this.#followed.set(runId, followed);
    this.#wake();
    return () => {
      followed.listeners.delete(listener);
      if (followed.listeners.size === 0 && this.#followed.get(runId) === followed) this.#followed.delete(runId);
    };
  }

  /** Entries after `after` in batches, up to and with the result. A slow consumer holds a bounded number of them. */
  async *entries(runId: string, after: string, signal: AbortSignal): AsyncGenerator<StreamedEntry[]> {
    let buffered: StreamedEntry[] = [];
    let taken = after;
    let notify = (): void => {};
    let stop: (() => void) | null = null;
    const listen = (streamed: StreamedEntry): void => {
      buffered.push(streamed);
      if (buffered.length >= BUFFERED) {
        stop?.();
        stop = null;
      }
      notify();
    };
    const aborted = (): void => notify();
    signal.addEventListener('abort', aborted);
    try {
      while (!signal.aborted) {
        if (buffered.length === 0) {
          const filled = new Promise<void>((resolve) => {
            notify = resolve;
          });
          stop ??= this.follow(runId, taken, listen);
          await filled;
          continue;
        }
        const batch = buffered;
        buffered = [];
        taken = batch.at(-1)!.id;
        yield batch;
        if (batch.at(-1)!.entry.type === 'result') return;
      }
    } finally {
      signal.removeEventListener('abort', aborted);
      (stop as (() => void) | null)?.();
    }
  }

  #wake(): void {
    if (this.#wakePending) return;
    this.#wakePending = true;
    const woken = this.#redis
      .multi()
      .xadd(this.#wakeKey, 'MAXLEN', '~', 16, '*', 'w', '1')
      .pexpire(this.#wakeKey, WAKE_TTL_MS)
      .exec();
    this.#renewWake();
    // A lost wake is made up for by the end of the blocked read.
    woken
      .catch(() => {})
      .finally(() => {
        this.#wakePending = false;
      });
  }

  #renewWake(): void {
    if (Date.now() - this.#wakeRenewedAt < WAKE_RENEW_MS) return;
    this.#wakeRenewedAt = Date.now();
    this.#redis.pexpire(this.#wakeKey, WAKE_TTL_MS).catch(() => {});
  }

  async #loop(reader: Redis): Promise<void> {
    while (!this.#closed) {
      const runs = [...this.#followed.keys()];
      const keys = [this.#wakeKey, ...runs.map(runEventsKey)];
      const cursors = [this.#wakeCursor, ...runs.map((runId) => this.#followed.get(runId)!.cursor)];
      this.#wakePending = false;
      try {
        const answer = await reader.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', ...keys, ...cursors);
        for (const [key, entries] of answer ?? []) {
          if (key === this.#wakeKey) this.#wakeCursor = entries.at(-1)![0];
          else {
            const at = keys.indexOf(key);
            this.#dispatch(runs[at - 1]!, cursors[at]!, entries);
          }
        }
      } catch (error) {
        if (this.#closed) return;
        log.warn('reading the output of runs failed, trying again', { error });
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }

  #dispatch(runId: string, readAfter: string, entries: [id: string, fields: string[]][]): void {
    const followed = this.#followed.get(runId);
    // A listener that joined during this read has put the cursor back: everything from there on is read again, so that it misses nothing.
    if (followed?.cursor !== readAfter) return;
    for (const [id, fields] of entries) {
      followed.cursor = id;
      const entry = RunStreamEntry.safeParse(JSON.parse(fields[1] ?? 'null'));
      if (!entry.success) {
        log.error('an entry of a run is not as agreed and was left out', { run: runId });
        continue;
      }
      for (const [listener, seen] of [...followed.listeners]) {
        if (!followed.listeners.has(listener) || !isAfter(id, seen)) continue;
        followed.listeners.set(listener, id);
        this.#deliver(runId, listener, { id, entry: entry.data });
      }
    }
  }

  #deliver(runId: string, listener: Listener, streamed: StreamedEntry): void {
    try {
      listener(streamed);
    } catch (error) {
      log.error('a reader of a run failed', { run: runId, error });
    }
  }
}
