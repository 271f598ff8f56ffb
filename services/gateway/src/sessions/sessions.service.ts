import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import type { SessionEvent } from './event.schema.ts';
import { EventFeed } from './event-feed.ts';
import { insertReserved, readEvents, readPage } from './events.store.ts';
import { foldMessages } from './messages.fold.ts';
import { type EventLine, toEvents } from './session-events.ts';
import { SessionLog } from './session-log.ts';
import { readSession } from './session-reader.ts';
import { messageNotFound, sessionNotFound, turnRunning } from './sessions.errors.ts';
import type { Message, Session } from './sessions.schema.ts';
import { type SessionRow, SessionsStore } from './sessions.store.ts';
import { storableText } from './storable.ts';

/** Rows fetched at once when a whole log is read. */
const LOG_PAGE_EVENTS = 5_000;

const view = (row: SessionRow): Session => ({
  id: row.id,
  title: row.title,
  agentId: row.agent_id,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  lastSeq: Number(row.next_seq) - 1,
  running: row.owner !== null,
});

/** A place in the list: the last row's time and id. */
function cursorOf({ updated_at, id }: SessionRow): string {
  return Buffer.from(`${updated_at.toISOString()} ${id}`).toString('base64url');
}

function placeOf(cursor: string | undefined): { updatedAt: Date; id: string } | undefined {
  if (cursor === undefined) return undefined;
  const [time = '', id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  const updatedAt = new Date(time);
  if (Number.isNaN(updatedAt.getTime()) || !/^ses_[0-9a-f]{32}$/.test(id)) {
    throw new AppError('bad_request', {
      zh: 'cursor 不是本接口给出的值。请从第一页重新读取。',
      en: 'The cursor is not one that this route gave out. Start again from the first page.',
    });
  }
  return { updatedAt, id };
}

/** Sessions and the reading of their logs. What starts, stops or ends a turn is the turns' business. */
@Injectable()
export class SessionsService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(SessionsStore) private readonly store: SessionsStore,
    @Inject(SessionLog) private readonly log: SessionLog,
    @Inject(EventFeed) private readonly feed: EventFeed,
  ) {}

  /** Newest first, a page at a time. Errors: `bad_request` (cursor). */
  async list(
    caller: Caller,
    { q, cursor, limit }: { q?: string; cursor?: string; limit: number },
  ): Promise<{ items: Session[]; nextCursor: string | null }> {
    const before = placeOf(cursor);
    const text = q ? storableText(q) : undefined;
    const rows = await this.db.read(caller.tenantId, (tx) =>
      this.store.list(tx, caller, { text, before, limit: limit + 1 }),
    );
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return { items: page.map(view), nextCursor: rows.length > limit && last ? cursorOf(last) : null };
  }

  /** Errors: `not_found` (agent). */
  async create(caller: Caller, { agentId, title }: { agentId?: string; title?: string }): Promise<Session> {
    return this.db.as(caller.tenantId, async (tx) => {
      const agent = await findAgent(tx, agentId);
      const row = await this.store.insert(tx, {
        id: newId('ses'),
        agent_id: agent,
        user_id: caller.userId,
        title: storableText(title ?? ''),
      });
      return view(row);
    });
  }

  /** Errors: `not_found`. */
  async get(caller: Caller, id: string): Promise<Session> {
    return view(await this.row(caller, id));
  }

  /** Errors: `not_found`. */
  async row(caller: Caller, id: string): Promise<SessionRow> {
    const row = await this.db.read(caller.tenantId, (tx) => this.store.get(tx, caller, id));
    if (!row) throw sessionNotFound();
    return row;
  }

  /** Renames a session or gives it another agent, from the next turn on. Errors: `not_found`. */
  async change(caller: Caller, id: string, { title, agentId }: { title?: string; agentId?: string }): Promise<Session> {
    const events = await this.db.as(caller.tenantId, async (tx) => {
      const session = await this.store.lock(tx, caller, id);
      if (!session) throw sessionNotFound();
      if (agentId) await this.store.setAgent(tx, id, await findAgent(tx, agentId));
      if (title === undefined) return [];
      const clean = storableText(title);
      const data = { title: clean };
      const event = { type: 'session.updated', turnId: undefined, messageId: undefined, at: new Date(), data } as const;
      await tx.finish([
        this.store.reserve(tx, session, 1, { title: clean }),
        insertReserved(tx, id, session.nextSeq, [event]),
      ]);
      return toEvents(id, session.nextSeq, [event]);
    });
    this.log.publish(events);
    return this.get(caller, id);
  }

  /** Changes the text of a message by hand; what was there stays in the log. Errors: `not_found`, `turn_running` for the answer being written. */
  async edit(caller: Caller, id: string, messageId: string, text: string): Promise<Message> {
    const { events, message } = await this.db.as(caller.tenantId, async (tx) => {
      const session = await this.store.lock(tx, caller, id);
      if (!session) throw sessionNotFound();
      const message = foldMessages(await this.#whole(tx, id)).find((one) => one.id === messageId);
      if (!message) throw messageNotFound();
      if (message.status === 'streaming') throw turnRunning();
      const data = { messageId, text: storableText(text) };
      const event = { type: 'message.edited', turnId: message.turnId, messageId, at: new Date(), data } as const;
      await tx.finish([this.store.reserve(tx, session, 1), insertReserved(tx, id, session.nextSeq, [event])]);
      return {
        events: toEvents(id, session.nextSeq, [event]),
        message: { ...message, text: data.text, edited: true },
      };
    });
    this.log.publish(events);
    return message;
  }

  /** The messages as they stand, and the place in the log to follow from. Errors: `not_found`. */
  async messages(caller: Caller, id: string): Promise<{ items: Message[]; lastSeq: number }> {
    const { events } = await this.whole(caller, id);
    return { items: foldMessages(events), lastSeq: events.at(-1)?.seq ?? 0 };
  }

  /** A session and all of its log. Errors: `not_found`. */
  async whole(caller: Caller, id: string): Promise<{ session: Session; events: SessionEvent[] }> {
    return this.db.as(caller.tenantId, async (tx) => {
      const row = await this.store.get(tx, caller, id);
      if (!row) throw sessionNotFound();
      return { session: view(row), events: await this.#whole(tx, id) };
    });
  }

  /** The next events after `after`, at most `limit`; fewer when they are long. Errors: `not_found`. */
  async page(caller: Caller, id: string, after: number, limit: number): Promise<SessionEvent[]> {
    return this.db.as(caller.tenantId, async (tx) => {
      if (!(await this.store.get(tx, caller, id))) throw sessionNotFound();
      return readPage(tx, id, after, limit);
    });
  }

  /** Follows a session's log from `after` on; the caller's right to it was checked by `row`. */
  follow(caller: Caller, id: string, after: number, signal: AbortSignal): AsyncGenerator<EventLine[]> {
    return readSession({ db: this.db, feed: this.feed }, caller.tenantId, id, after, signal);
  }

  async #whole(tx: TenantTx, id: string): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    for (;;) {
      const page = await readEvents(tx, id, events.at(-1)?.seq ?? 0, LOG_PAGE_EVENTS);
      events.push(...page);
      if (page.length < LOG_PAGE_EVENTS) return events;
    }
  }
}

/** The named agent, or the tenant's oldest. Errors: `not_found`. */
async function findAgent(tx: TenantTx, agentId: string | undefined): Promise<string> {
  let query = tx.selectFrom('agents').select('id').orderBy('created_at').orderBy('id').limit(1);
  if (agentId) query = query.where('id', '=', agentId);
  const row = await query.executeTakeFirst();
  if (row) return row.id;
  throw new AppError('not_found', {
    zh: '找不到这个智能体。请先在设置里选择一个。',
    en: 'There is no such agent. Choose one in the settings first.',
  });
}
