import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '@moli/telemetry';
import type { TenantDb } from '../database/tenant-db.ts';
import type { EventFeed } from './event-feed.ts';
import { readPage } from './events.store.ts';
import { type EventLine, toLine } from './session-events.ts';

/** Events fetched from Postgres at once. */
const PAGE_EVENTS = 500;
/** A lost last event leaves no hole in the numbers: look into Postgres this often. */
const CHECK_MILLISECONDS = 3_000;
/** Pause before Postgres is asked again after it did not answer. */
const RETRY_MILLISECONDS = 1_000;
/** Live events kept for a reader that is busy sending. Past this they are dropped and read again from Postgres: the log is the buffer. */
const MAX_BUFFERED_EVENTS = 256;
const MAX_BUFFERED_CHARACTERS = 1024 * 1024;

export interface ReaderSources {
  readonly db: TenantDb;
  readonly feed: EventFeed;
}

/**
 * One reader of one session's log, from `after` on, without holes or repeats: first what Postgres has, then live events as long as each follows the
 * last, and Postgres again whenever one does not. The consumer pulls; a slow one costs no memory. Ends with `session.deleted`, or when the signal
 * aborts.
 */
export async function* readSession(
  { db, feed }: ReaderSources,
  tenantId: string,
  sessionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<EventLine[]> {
  const live = new LiveBuffer(signal);
  const end = await feed.listen(sessionId, (line) => live.push(line));
  try {
    let last = after;
    while (!signal.aborted) {
      if (live.mustLook) {
        live.mustLook = false;
        const page = await lookUp(db, tenantId, sessionId, last).catch((error: unknown) => {
          log.warn('the session log cannot be read, trying again', { session: sessionId, error });
          return undefined;
        });
        if (!page) {
          live.mustLook = true;
          await sleep(RETRY_MILLISECONDS, undefined, { signal }).catch(() => {});
          continue;
        }
        const { lines, more } = page;
        if (more) live.mustLook = true;
        if (lines.length > 0) {
          last = (lines.at(-1) as EventLine).seq;
          yield lines;
          if (lines.at(-1)?.type === 'session.deleted') return;
          continue;
        }
      }
      const lines = live.takeAfter(last);
      if (lines.length > 0) {
        last = (lines.at(-1) as EventLine).seq;
        yield lines;
      } else if (!live.mustLook) {
        await live.wait();
      }
    }
  } finally {
    end();
    live.close();
  }
}

interface Page {
  readonly lines: EventLine[];
  /** The log goes on after the page. */
  readonly more: boolean;
}

/**
 * The next page from Postgres; a session that is gone ends with an event that exists only here. Most looks find nothing new, so the page is asked for only
 * when there is one.
 */
async function lookUp(db: TenantDb, tenantId: string, sessionId: string, last: number): Promise<Page> {
  const session = await db.read(tenantId, (tx) =>
    tx.selectFrom('sessions').select('next_seq').where('id', '=', sessionId).executeTakeFirst(),
  );
  if (!session) return { lines: [deletedLine(sessionId, last + 1)], more: false };
  const newest = Number(session.next_seq) - 1;
  if (newest <= last) return { lines: [], more: false };
  const page = await db.read(tenantId, (tx) => readPage(tx, sessionId, last, PAGE_EVENTS));
  const lines = page.map(toLine);
  return { lines, more: (lines.at(-1)?.seq ?? newest) < newest };
}

function deletedLine(sessionId: string, seq: number): EventLine {
  return toLine({ seq, sessionId, type: 'session.deleted', at: new Date().toISOString(), data: {} });
}

/** Live events between arrival and sending. */
class LiveBuffer {
  /** Postgres has something that did not come live, or may have. */
  mustLook = true;
  #lines: EventLine[] = [];
  #characters = 0;
  #wake: (() => void) | undefined;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#wake?.();
  /** One for the life of the reader: it waits many times a second. */
  readonly #check = setTimeout(() => {
    this.mustLook = true;
    this.#wake?.();
  }, CHECK_MILLISECONDS);

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
  }

  close(): void {
    clearTimeout(this.#check);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  push(line: EventLine): void {
    // The news that a session is gone has no place of its own in the log.
    const full = this.#lines.length >= MAX_BUFFERED_EVENTS || this.#characters > MAX_BUFFERED_CHARACTERS;
    if (line.type === 'session.deleted' || full) {
      this.#clear();
      this.mustLook = true;
    } else {
      this.#lines.push(line);
      this.#characters += line.json.length;
    }
    this.#wake?.();
  }

  /** Buffered events that follow `last` without a hole. At a hole the rest is dropped and looked up. */
  takeAfter(last: number): EventLine[] {
    const taken: EventLine[] = [];
    let next = last + 1;
    for (const line of this.#lines) {
      if (line.seq < next) continue;
      if (line.seq > next) {
        this.mustLook = true;
        break;
      }
      taken.push(line);
      next += 1;
    }
    this.#clear();
    return taken;
  }

  #clear(): void {
    this.#lines = [];
    this.#characters = 0;
  }

  /** Resolves when something came, when the time is over (then Postgres is looked at), or on abort. */
  async wait(): Promise<void> {
    if (this.#lines.length > 0 || this.#signal.aborted) return;
    this.#check.refresh();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}
