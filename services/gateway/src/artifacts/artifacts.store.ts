import type { RunArtifact } from '@moli/queue';
import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';

/** A row of `artifacts` with `bytes` as a number (objects are far below 2^53). */
export type ArtifactRow = Omit<Selectable<Database['artifacts']>, 'bytes'> & { readonly bytes: number };

type Read = Selectable<Database['artifacts']>;

const asRow = (row: Read): ArtifactRow => ({ ...row, bytes: Number(row.bytes) });

/** Object key of an artifact; everything of a run lies below one prefix. */
export const artifactPrefix = (tenantId: string, runId: string): string => `${tenantId}/artifacts/${runId}/`;
export const artifactKey = (tenantId: string, runId: string, id: string): string =>
  `${artifactPrefix(tenantId, runId)}${id}`;

const ofSettledRuns = (tx: TenantTx, sessionId: string) =>
  tx
    .selectFrom('artifacts')
    .innerJoin('runs', (join) =>
      join.onRef('runs.id', '=', 'artifacts.run_id').onRef('runs.tenant_id', '=', 'artifacts.tenant_id'),
    )
    .selectAll('artifacts')
    .where('artifacts.session_id', '=', sessionId)
    .where('runs.verdict', 'is not', null);

/**
 * The `artifacts` table. Rows appear when their upload links are given out, so that what a run shows can be opened while it still runs; those that
 * the outcome does not name are removed when the run is settled.
 */
@Injectable()
export class ArtifactsStore {
  async insert(
    tx: TenantTx,
    run: { readonly tenantId: string; readonly id: string; readonly sessionId: string | null },
    artifacts: readonly RunArtifact[],
  ): Promise<void> {
    if (artifacts.length === 0) return;
    await tx
      .insertInto('artifacts')
      .values(
        artifacts.map(({ id, name, bytes, sha256, mimeType, width, height }) => ({
          id,
          run_id: run.id,
          session_id: run.sessionId,
          name,
          bytes,
          sha256,
          mime_type: mimeType,
          width: width ?? null,
          height: height ?? null,
          object_key: artifactKey(run.tenantId, run.id, id),
        })),
      )
      // A second try of the same upload asks for links again.
      .onConflict((conflict) => conflict.columns(['tenant_id', 'id']).doNothing())
      .execute();
  }

  async get(tx: TenantTx, id: string): Promise<ArtifactRow | undefined> {
    const row = await tx.selectFrom('artifacts').selectAll().where('id', '=', id).executeTakeFirst();
    return row && asRow(row);
  }

  /** Of a session's settled runs, oldest first. */
  async forSession(tx: TenantTx, sessionId: string): Promise<ArtifactRow[]> {
    const rows = await ofSettledRuns(tx, sessionId).orderBy('artifacts.created_at').orderBy('artifacts.id').execute();
    return rows.map(asRow);
  }

  /** Files that settled runs of a session left in their work folders, newest first; figures that were only shown are not files. */
  async filesOfSession(tx: TenantTx, sessionId: string, limit: number): Promise<ArtifactRow[]> {
    const rows = await ofSettledRuns(tx, sessionId)
      .where(
        sql<boolean>`not (runs.outcome->'artifacts') @> jsonb_build_array(jsonb_build_object('id', artifacts.id, 'shown', true))`,
      )
      .orderBy('artifacts.created_at', 'desc')
      .orderBy('artifacts.id', 'desc')
      .limit(limit)
      .execute();
    return rows.map(asRow);
  }

  /** Removes the rows of a run whose ids are not in `ids`, and says their object keys. */
  async keepOnly(tx: TenantTx, runId: string, ids: readonly string[]): Promise<string[]> {
    let query = tx.deleteFrom('artifacts').where('run_id', '=', runId);
    if (ids.length > 0) query = query.where('id', 'not in', ids);
    return (await query.returning('object_key').execute()).map((row) => row.object_key);
  }
}
