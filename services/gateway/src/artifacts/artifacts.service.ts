import { AppError } from '@moli/errors';
import type { ByteRange, ObjectStore, OpenObject } from '@moli/objects';
import { Inject, Injectable } from '@nestjs/common';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { OBJECTS } from '../tokens.ts';
import type { SessionArtifact } from './artifacts.schema.ts';
import { type ArtifactRow, ArtifactsStore, artifactPrefix } from './artifacts.store.ts';

/** The same for an absent and a foreign id. */
const artifactNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个文件。它可能已随会话删除，或还没有生成完。',
    en: 'There is no such artifact. It may have been deleted with its chat, or is not complete yet.',
  });

const view = (row: ArtifactRow): SessionArtifact => ({
  id: row.id,
  name: row.name,
  mimeType: row.mime_type,
  bytes: row.bytes,
  sha256: row.sha256,
  ...(row.width === null ? {} : { width: row.width }),
  ...(row.height === null ? {} : { height: row.height }),
  runId: row.run_id,
  createdAt: row.created_at.toISOString(),
});

/** Files that runs made: their bytes, links and lists. */
@Injectable()
export class ArtifactsService {
  constructor(
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(ArtifactsStore) private readonly store: ArtifactsStore,
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
  ) {}

  /** An artifact is as visible as its session; that of a run without one belongs to who started it. Errors: `not_found`, the same for an absent and a foreign id. */
  async find(caller: Caller, id: string): Promise<ArtifactRow> {
    return this.db.as(caller.tenantId, async (tx) => {
      const row = await this.store.get(tx, id);
      if (!row) throw artifactNotFound();
      if (row.session_id) {
        if (!(await this.sessions.get(tx, caller, row.session_id))) throw artifactNotFound();
        return row;
      }
      const run = await tx.selectFrom('runs').select('user_id').where('id', '=', row.run_id).executeTakeFirst();
      const owner = run?.user_id ?? null;
      if (caller.userId !== null && owner !== null && owner !== caller.userId) throw artifactNotFound();
      return row;
    });
  }

  /** The bytes of a row that `find` answered. Errors: `not_found` for one that is not finished, `range_not_satisfiable`. */
  open(row: ArtifactRow, range: ByteRange | undefined): Promise<OpenObject> {
    return this.objects.get(row.object_key, range);
  }

  /** A link that reads exactly this artifact for `expiresInSeconds`. Errors: `not_found`. */
  async sign(caller: Caller, id: string, expiresInSeconds: number): Promise<{ url: string; expiresAt: string }> {
    const artifact = await this.find(caller, id);
    const link = await this.objects.signGet(artifact.object_key, {
      expiresInSeconds,
      downloadName: artifact.name,
      contentType: artifact.mime_type,
    });
    return { url: link.url, expiresAt: link.expiresAt.toISOString() };
  }

  /** What the settled runs of a session made, oldest first. The caller has checked the session. */
  async listForSession(tx: TenantTx, sessionId: string): Promise<SessionArtifact[]> {
    return (await this.store.forSession(tx, sessionId)).map(view);
  }

  /** Removes the objects that runs of a session made and says how many; the rows go with the session. */
  async deleteSessionObjects(tenantId: string, sessionId: string): Promise<number> {
    const runs = await this.db.as(tenantId, (tx) =>
      tx.selectFrom('runs').select('id').where('session_id', '=', sessionId).execute(),
    );
    let count = 0;
    for (const { id } of runs) count += await this.objects.deletePrefix(artifactPrefix(tenantId, id));
    return count;
  }
}
