import { Injectable } from '@nestjs/common';
import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';

export type SessionRow = Selectable<Database['sessions']>;

/** A session's row while this transaction alone may append to its log. */
export interface LockedSession {
  readonly id: string;
  readonly title: string;
  readonly agentId: string;
  /** The number that the next event gets. */
  readonly nextSeq: number;
  readonly fence: string;
  readonly owner: string | null;
}

export interface SessionFilter {
  readonly text: string | undefined;
  readonly before: { updatedAt: Date; id: string } | undefined;
  readonly limit: number;
}

/** A person sees what is theirs and what programs of the tenant made; an API key of no one sees the tenant's sessions. */
const visible = (caller: Caller) => (where: ExpressionBuilder<Database, 'sessions'>) =>
  caller.userId === null
    ? sql<boolean>`true`
    : where.or([where('sessions.user_id', 'is', null), where('sessions.user_id', '=', caller.userId)]);

const likePattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;

/** The fence of the next holder of a session. */
export const fenceAfter = ({ fence }: LockedSession): string => String(BigInt(fence) + 1n);

/** The `sessions` table. */
@Injectable()
export class SessionsStore {
  async exists(tx: TenantTx, id: string): Promise<boolean> {
    return (await tx.selectFrom('sessions').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
  }

  async insert(
    tx: TenantTx,
    row: { id: string; agent_id: string; user_id: string | null; title: string },
  ): Promise<SessionRow> {
    return tx
      .insertInto('sessions')
      .values({ ...row, owner: null, updated_at: new Date() })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  async get(tx: TenantTx, caller: Caller, id: string): Promise<SessionRow | undefined> {
    return tx.selectFrom('sessions').selectAll().where('id', '=', id).where(visible(caller)).executeTakeFirst();
  }

  /**
   * Newest first. A text is looked for in titles and in messages, session by session in this order until the page is full: `offset 0` keeps the
   * planner from reading the messages of everyone first. The index is `events_messages`.
   */
  async list(tx: TenantTx, caller: Caller, { text, before, limit }: SessionFilter): Promise<SessionRow[]> {
    let query = tx.selectFrom('sessions').selectAll().where(visible(caller));
    if (before) {
      query = query.where(sql<boolean>`(updated_at, id) < (${before.updatedAt}, ${before.id})`);
    }
    if (text) {
      const pattern = likePattern(text);
      query = query.where((where) =>
        where.or([
          where('title', 'ilike', pattern),
          where.exists(
            where
              .selectFrom('events')
              .select('events.seq')
              .whereRef('events.session_id', '=', 'sessions.id')
              .where('events.type', 'in', ['message.created', 'message.edited', 'message.completed'])
              .where(sql<boolean>`events.data->>'text' ilike ${pattern}`)
              .offset(sql<number>`0`),
          ),
        ]),
      );
    }
    return query.orderBy('updated_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  async setAgent(tx: TenantTx, id: string, agentId: string): Promise<void> {
    await tx.updateTable('sessions').set({ agent_id: agentId }).where('id', '=', id).execute();
  }

  /**
   * Locks the row until the end of the transaction. Everything that appends without holding the session does it under this lock, so numbers have no
   * holes and the order of locking is the order of the log.
   */
  async lock(tx: TenantTx, caller: Caller | undefined, id: string): Promise<LockedSession | undefined> {
    let query = tx
      .selectFrom('sessions')
      .select(['id', 'title', 'agent_id', 'next_seq', 'fence', 'owner'])
      .where('id', '=', id)
      .forNoKeyUpdate();
    if (caller) query = query.where(visible(caller));
    const row = await query.executeTakeFirst();
    if (!row) return undefined;
    const { title, agent_id, next_seq, fence, owner } = row;
    return { id, title, agentId: agent_id, nextSeq: Number(next_seq), fence, owner };
  }

  /** Counts `count` numbers of the log as used by this transaction; `title` is set with it when given, `holder` when it takes the session. */
  reserve(
    tx: TenantTx,
    session: LockedSession,
    count: number,
    { title, holder }: { title?: string; holder?: string } = {},
  ) {
    return tx
      .updateTable('sessions')
      .set({
        next_seq: String(session.nextSeq + count),
        updated_at: new Date(),
        ...(title === undefined ? {} : { title }),
        ...(holder === undefined ? {} : { owner: holder, fence: fenceAfter(session) }),
      })
      .where('id', '=', session.id);
  }

  /** Gives a locked session to a gateway. Whoever held it before can write no more. Answers the new fence. */
  async take(tx: TenantTx, session: LockedSession, gatewayId: string): Promise<string> {
    const fence = fenceAfter(session);
    await tx.updateTable('sessions').set({ owner: gatewayId, fence }).where('id', '=', session.id).execute();
    return fence;
  }

  /** Nobody holds a locked session any more. */
  release(tx: TenantTx, { id }: LockedSession) {
    return tx.updateTable('sessions').set({ owner: null }).where('id', '=', id);
  }

  async delete(tx: TenantTx, id: string): Promise<void> {
    await tx.deleteFrom('sessions').where('id', '=', id).execute();
  }
}
