import { sql } from 'kysely';
import type { TenantTx } from '../database/tenant-db.ts';
import type { EventType, SessionEvent } from './event.schema.ts';
import type { HeldSession } from './log-writer.ts';
import { type PendingEvent } from './pending-event.ts';
import { toEvent } from './session-events.ts';

/** Events that are appended by the request that makes them, under the session's row lock, and not by the turn's writer. */
const APPENDED_DIRECTLY: EventType[] = ['message.created', 'message.edited', 'session.updated'];

/** Columns of an event as it is read. */
const COLUMNS = ['session_id', 'seq', 'type', 'turn_id', 'message_id', 'at', 'data'] as const;

interface EventRow {
  session_id: string;
  seq: string;
  type: string;
  turn_id: string | null;
  message_id: string | null;
  at: Date;
  data: Record<string, unknown>;
}

const rowToEvent = (row: EventRow): SessionEvent =>
  toEvent(row.session_id, Number(row.seq), {
    type: row.type as EventType,
    turnId: row.turn_id ?? undefined,
    messageId: row.message_id ?? undefined,
    at: row.at,
    data: row.data,
  });

/** Up to `limit` events after `after`, in order. */
export async function readEvents(
  tx: TenantTx,
  sessionId: string,
  after: number,
  limit: number,
): Promise<SessionEvent[]> {
  const rows = await tx
    .selectFrom('events')
    .select(COLUMNS)
    .where('session_id', '=', sessionId)
    .where('seq', '>', String(after))
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map(rowToEvent);
}

/** Bytes of data in one page; a page always has at least one event. */
const PAGE_BYTES = 1024 * 1024;

/**
 * The next events after `after`, in order: at most `limit`, and not many more bytes than a page may have, so that a reader of long outputs costs no
 * more memory than one of short words. The size of small values is taken as it is stored; large ones are stored compressed and are looked into.
 */
export async function readPage(tx: TenantTx, sessionId: string, after: number, limit: number): Promise<SessionEvent[]> {
  const next = tx
    .selectFrom('events')
    .select(COLUMNS)
    .select(
      sql<number>`case when pg_column_size(data) > 1500 then octet_length(data::text) else pg_column_size(data) end`.as(
        'bytes',
      ),
    )
    .where('session_id', '=', sessionId)
    .where('seq', '>', String(after))
    .orderBy('seq')
    .limit(limit);
  const rows = await tx
    .selectFrom(
      tx
        .selectFrom(next.as('next'))
        .selectAll()
        .select(sql<string>`sum(bytes) over (order by seq) - bytes`.as('before'))
        .as('page'),
    )
    .select(COLUMNS)
    .where('before', '<', String(PAGE_BYTES))
    .orderBy('seq')
    .execute();
  return rows.map(rowToEvent);
}

/** All events of the named types, in order. */
export async function readEventsOf(
  tx: TenantTx,
  sessionId: string,
  types: readonly EventType[],
): Promise<SessionEvent[]> {
  const rows = await tx
    .selectFrom('events')
    .select(COLUMNS)
    .where('session_id', '=', sessionId)
    .where('type', 'in', types)
    .orderBy('seq')
    .execute();
  return rows.map(rowToEvent);
}

/** The statement that inserts events whose numbers were reserved under the session's row lock; the first gets `firstSeq`. */
export function insertReserved(tx: TenantTx, sessionId: string, firstSeq: number, events: readonly PendingEvent[]) {
  return tx.insertInto('events').values(
    events.map((event, i) => ({
      session_id: sessionId,
      seq: firstSeq + i,
      type: event.type,
      turn_id: event.turnId ?? null,
      message_id: event.messageId ?? null,
      at: event.at,
      data: JSON.stringify(event.data),
    })),
  );
}

/** Numbers of the events that a holder's writer stored after `after`; empty when the fence is not its own any more. */
export async function readWritten(tx: TenantTx, held: HeldSession, after: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('events')
    .select('seq')
    .where('session_id', '=', held.sessionId)
    .where('seq', '>', String(after))
    .where('type', 'not in', APPENDED_DIRECTLY)
    .where(
      sql<boolean>`exists (select 1 from sessions s where s.id = ${held.sessionId} and s.fence = ${held.fence}::bigint)`,
    )
    .orderBy('seq')
    .execute();
  return rows.map((row) => Number(row.seq));
}
