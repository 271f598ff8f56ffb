import { openDatabase } from '../support/database.ts';
import type { Stack } from '../support/stack.ts';

/** What every measurement needs: a running Moli, a key, the sandbox's interpreter for the peers. */
export interface LoadContext {
  readonly stack: Stack;
  readonly url: string;
  readonly key: string;
  readonly python: string;
  /** Folder for what is slow to make and outlives a run of the suite. */
  readonly cache: string;
  readonly rounds: number;
}

/** Fills a session's log up to so many events, past the door that people use: only reading it is measured. */
export async function appendEvents({ stack }: LoadContext, sessionId: string, upTo: number): Promise<void> {
  const client = await openDatabase(stack);
  try {
    await client.query(
      `with s as (update sessions set next_seq = $2::bigint + 1 where id = $1 and next_seq <= $2::bigint
                  returning tenant_id, id),
            f as (select coalesce(max(seq), 0) + 1 first from events where session_id = $1)
       insert into events (tenant_id, session_id, seq, type, data)
       select s.tenant_id, s.id, n, 'text.delta', jsonb_build_object('text', 'word ' || n || ' ')
       from s, f, generate_series(f.first, $2::bigint) n`,
      [sessionId, upTo],
    );
  } finally {
    await client.end();
  }
}
