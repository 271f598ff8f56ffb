import type { RunOutcome } from '@moli/queue';
import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import type { StoredSpec } from './runs.schema.ts';
import { fromStored, toStored } from './stored-json.ts';

/** A row of `runs` with its JSON as it was before storing. */
export type RunRow = Omit<Selectable<Database['runs']>, 'spec' | 'outcome'> & {
  readonly spec: StoredSpec;
  readonly outcome: RunOutcome | null;
};

export interface NewRun {
  readonly id: string;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  readonly callId: string | null;
  readonly userId: string | null;
  readonly idempotencyKey: string | null;
  readonly rerunOf: string | null;
  readonly spec: StoredSpec;
  readonly deadline: Date;
}

export interface RunFilter {
  readonly sessionId: string | undefined;
  readonly before: { createdAt: Date; id: string } | undefined;
  readonly limit: number;
}

type Read = Selectable<Database['runs']>;

const asRow = (row: Read): RunRow => ({
  ...row,
  spec: fromStored<StoredSpec>(row.spec),
  outcome: row.outcome === null ? null : fromStored<RunOutcome>(row.outcome),
});

/** The `runs` table. */
@Injectable()
export class RunsStore {
  /**
   * The commit does not wait for the disk: nothing is promised for a run before its verdict, and the synchronous commit of the verdict makes this
   * row durable with it. Saves a disk flush on the way to the sandbox.
   */
  async commitWithoutFlush(tx: TenantTx): Promise<void> {
    await sql`set local synchronous_commit = off`.execute(tx);
  }

  /** False when the idempotency key is taken. */
  async insert(tx: TenantTx, run: NewRun): Promise<boolean> {
    const inserted = await tx
      .insertInto('runs')
      .values({
        id: run.id,
        session_id: run.sessionId,
        turn_id: run.turnId,
        call_id: run.callId,
        user_id: run.userId,
        idempotency_key: run.idempotencyKey,
        rerun_of: run.rerunOf,
        spec: toStored(run.spec),
        verdict: null,
        outcome: null,
        deadline: run.deadline,
        finished_at: null,
      })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'idempotency_key']).doNothing())
      .executeTakeFirst();
    return inserted.numInsertedOrUpdatedRows === 1n;
  }

  async get(tx: TenantTx, id: string): Promise<RunRow | undefined> {
    const row = await tx.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst();
    return row && asRow(row);
  }

  async byIdempotencyKey(tx: TenantTx, key: string): Promise<RunRow | undefined> {
    const row = await tx.selectFrom('runs').selectAll().where('idempotency_key', '=', key).executeTakeFirst();
    return row && asRow(row);
  }

  /** Newest first: of one session, or of the caller's runs outside of sessions. */
  async list(tx: TenantTx, caller: Caller, { sessionId, before, limit }: RunFilter): Promise<Read[]> {
    let query = tx.selectFrom('runs').selectAll();
    if (sessionId) query = query.where('session_id', '=', sessionId);
    else {
      query = query.where('session_id', 'is', null);
      if (caller.userId !== null) {
        query = query.where((where) => where.or([where('user_id', 'is', null), where('user_id', '=', caller.userId)]));
      }
    }
    if (before) query = query.where(sql<boolean>`(created_at, id) < (${before.createdAt}, ${before.id})`);
    return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  /** Writes the outcome unless there is one. Answers a row to exactly one caller. */
  settle(tx: TenantTx, outcome: RunOutcome) {
    return tx
      .updateTable('runs')
      .set({ verdict: outcome.verdict, outcome: toStored(outcome), finished_at: new Date() })
      .where('id', '=', outcome.runId)
      .where('verdict', 'is', null)
      .returning('id');
  }

  async requestCancel(tx: TenantTx, id: string): Promise<void> {
    await tx
      .updateTable('runs')
      .set({ cancel_requested: true })
      .where('id', '=', id)
      .where('verdict', 'is', null)
      .execute();
  }

  /** Ids of a session's runs without a verdict. */
  async openOfSession(tx: TenantTx, sessionId: string): Promise<string[]> {
    const rows = await tx
      .selectFrom('runs')
      .select('id')
      .where('session_id', '=', sessionId)
      .where('verdict', 'is', null)
      .execute();
    return rows.map((row) => row.id);
  }

  /** Session and state of a run, without its JSON. */
  async stateOf(tx: TenantTx, id: string): Promise<{ sessionId: string | null; settled: boolean } | undefined> {
    const row = await tx.selectFrom('runs').select(['session_id', 'verdict']).where('id', '=', id).executeTakeFirst();
    return row && { sessionId: row.session_id, settled: row.verdict !== null };
  }
}
