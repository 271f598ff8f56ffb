import { Inject, Injectable } from '@nestjs/common';
import { ArtifactsService } from '../artifacts/artifacts.service.ts';
import { AuditStore } from '../audit/audit.store.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { FilesService } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { RunsService } from '../runs/runs.service.ts';
import { SessionEnding } from './session-ending.ts';

/** What a person does to sessions besides sending: stop the turn, look at the files, delete. */
@Injectable()
export class TurnControlService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(FilesService) private readonly files: FilesService,
    @Inject(ArtifactsService) private readonly artifacts: ArtifactsService,
    @Inject(RunsService) private readonly runs: RunsService,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(SessionEnding) private readonly ending: SessionEnding,
  ) {}

  /** Ends the running turn, wherever it runs; its text stays. Messages that wait get their turns. Errors: `not_found`. */
  async stop(caller: Caller, sessionId: string): Promise<{ running: boolean }> {
    return { running: await this.ending.stop(caller, sessionId) };
  }

  /** Uploads and artifacts of a session. Errors: `not_found`. */
  async listFiles(caller: Caller, sessionId: string) {
    await this.ending.assertVisible(caller, sessionId);
    const files = await this.files.list(caller, sessionId);
    const artifacts = await this.db.as(caller.tenantId, (tx) => this.artifacts.listForSession(tx, sessionId));
    return { files, artifacts };
  }

  /**
   * Deletes a session with everything it has: its turn and runs end first, then objects, then rows, so that a deletion that was cut short can be repeated.
   * Errors: `not_found`.
   */
  async remove(caller: Caller, sessionId: string): Promise<void> {
    const { tenantId } = caller;
    const close = await this.ending.begin(caller, sessionId);
    try {
      await this.runs.cancelSession(tenantId, sessionId);
      const files = await this.files.deleteSessionObjects(tenantId, sessionId);
      const artifacts = await this.artifacts.deleteSessionObjects(tenantId, sessionId);
      await this.db.as(tenantId, async (tx) => {
        await this.ending.deleteRows(tx, sessionId);
        await this.audit.append(tx, caller, {
          action: 'session.delete',
          target: sessionId,
          outcome: 'ok',
          detail: { files, artifacts },
        });
      });
      this.ending.tellReaders(sessionId);
    } finally {
      close();
    }
  }
}
