import { type Kysely, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { PendingEvent } from './pending-event.ts';

/** An event with the session it goes to and the right to write there. */
export interface AddressedEvent {
  readonly sessionId: string;
  /** The fence under which the writer holds the session. */
  readonly fence: string;
  readonly event: PendingEvent;
}

/**
 * Appends events of many sessions in one statement, as role moli_log: one fsync for all of them. Rows are locked in one order everywhere, so writers
 * cannot deadlock. Answers the sequence number of each event by its position; one that is missing was refused, because its fence is old or its
 * session is gone.
 */
export async function insertEvents(
  db: Kysely<Database>,
  events: readonly AddressedEvent[],
): Promise<(number | undefined)[]> {
  const column = <T>(pick: (item: AddressedEvent) => T): T[] => events.map(pick);
  const { rows } = await sql<{ i: number; seq: string }>`
    with d as (
      select v.*, row_number() over (partition by v.id, v.fence order by v.ord) k
      from unnest(
        ${column((e) => e.sessionId)}::text[], ${column((e) => e.fence)}::bigint[], ${column((e) => e.event.type)}::text[],
        ${column((e) => e.event.turnId ?? null)}::text[], ${column((e) => e.event.messageId ?? null)}::text[],
        ${column((e) => e.event.at)}::timestamptz[], ${column((e) => JSON.stringify(e.event.data))}::text[]
      ) with ordinality v(id, fence, type, turn_id, message_id, at, data, ord)
    ),
    l as (
      select s.id, s.fence from sessions s where (s.id, s.fence) in (select id, fence from d) order by s.id for no key update
    ),
    n as (select d.id, d.fence, count(*) n from d join l using (id, fence) group by d.id, d.fence),
    u as (
      update sessions s set next_seq = s.next_seq + n.n from n where s.id = n.id and s.fence = n.fence
      returning s.id, s.tenant_id, s.fence, s.next_seq - n.n base
    ),
    e as (
      insert into events (tenant_id, session_id, seq, type, turn_id, message_id, at, data)
      select u.tenant_id, u.id, u.base + d.k - 1, d.type, d.turn_id, d.message_id, d.at, d.data::jsonb from u join d using (id, fence)
    )
    select d.ord::int - 1 i, u.base + d.k - 1 seq from u join d using (id, fence)`.execute(db);
  const numbers: (number | undefined)[] = new Array(events.length).fill(undefined);
  for (const row of rows) numbers[row.i] = Number(row.seq);
  return numbers;
}
