import { faultOf, type ObjectStore } from '@moli/objects';
import type { RunJob, RunLimits } from '@moli/queue';
import { Inject, Injectable } from '@nestjs/common';
import { ArtifactsStore } from '../artifacts/artifacts.store.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import { type FileReference, FilesService } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { sessionNotFound } from '../sessions/sessions.errors.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { OBJECTS } from '../tokens.ts';
import { MAX_EARLIER_FILES } from './run.limits.ts';
import type { StoredSpec } from './runs.schema.ts';

type Input = StoredSpec['files'][number];

/** What a run finds in its work folder. */
@Injectable()
export class RunInputs {
  constructor(
    @Inject(FilesService) private readonly files: FilesService,
    @Inject(ArtifactsStore) private readonly artifacts: ArtifactsStore,
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
  ) {}

  /**
   * The named files, and in a session the files of its earlier runs; without named files the session's uploads too. Of several with one name the
   * newest counts, a named one always: a run that rewrote its input hands the new version on, the upload itself stays as it is.
   * Errors: `not_found`, `link_invalid`, `invalid_name`, `conflict`.
   */
  async resolve(
    caller: Caller,
    request: { files?: readonly FileReference[]; sessionId?: string },
    limits: RunLimits,
  ): Promise<Input[]> {
    const { files, sessionId } = request;
    const named = files ? await this.files.resolve(caller, files, sessionId) : [];
    if (!sessionId) return named;
    const byName = await this.db.as(caller.tenantId, async (tx) => {
      if (!(await this.sessions.get(tx, caller, sessionId))) throw sessionNotFound();
      return this.#ofSession(tx, sessionId, files === undefined, limits);
    });
    for (const input of named) byName.set(input.name, input);
    return [...byName.values()];
  }

  /** Inputs as the executor gets them: each with a link that works until the run must have begun. */
  async sign(inputs: readonly Input[], startBefore: number): Promise<RunJob['files']> {
    const expiresInSeconds = Math.ceil((startBefore - Date.now()) / 1_000) + 60;
    return Promise.all(
      inputs.map(async ({ name, bytes, sha256, objectKey }) => {
        const { url } = await this.objects.signGet(objectKey, { expiresInSeconds, reach: 'internal' });
        return { name, bytes, sha256, url };
      }),
    );
  }

  async #ofSession(tx: TenantTx, sessionId: string, uploads: boolean, limits: RunLimits): Promise<Map<string, Input>> {
    const brought = uploads ? await this.files.forSession(tx, sessionId) : [];
    // Half of the disk is left to the program itself.
    let room = limits.diskBytes / 2;
    const made = (await this.artifacts.filesOfSession(tx, sessionId, MAX_EARLIER_FILES)).filter(({ name, bytes }) => {
      if (faultOf(name) !== null) return false;
      room -= bytes;
      return room >= 0;
    });
    const all = [...brought, ...made].sort((a, b) => a.created_at.getTime() - b.created_at.getTime());
    return new Map(
      all.map(({ id, name, bytes, sha256, object_key }) => [name, { id, name, bytes, sha256, objectKey: object_key }]),
    );
  }
}
