import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AppError } from '@moli/errors';
import { acceptFileName, type ObjectStore, objectKey } from '@moli/objects';
import { type AcceptedType, checkUpload, describeFile, type FileDescription } from '@moli/tables';
import { STEPS, span } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import type { GatewayConfig } from '../config.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import { Metrics } from '../metrics.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { CONFIG, OBJECTS } from '../tokens.ts';
import { acceptedTypes } from './accepted-types.ts';
import { viewOf } from './file.view.ts';
import { sessionNotFound } from './files.errors.ts';
import type { File } from './files.schema.ts';
import { FilesStore } from './files.store.ts';

/** A complete upload on this machine's disk, not yet checked. */
export interface Incoming {
  readonly path: string;
  readonly bytes: number;
  readonly name: string;
  readonly sessionId: string | null;
  /** Id of the resumable upload; the same one again is the same file. */
  readonly uploadId?: string;
  /** What the sender says the content's SHA-256 is, lower-case hex. */
  readonly sha256?: string;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** The way in for files: from a complete upload to an object that was read back, a description and a row. */
@Injectable()
export class FileIntake {
  readonly #types: readonly AcceptedType[];

  constructor(
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    private readonly db: TenantDb,
    private readonly store: FilesStore,
    private readonly sessions: SessionsStore,
    private readonly audit: AuditStore,
    private readonly metrics: Metrics,
  ) {
    this.#types = acceptedTypes(config);
  }

  /** Largest file that is accepted. */
  get maxBytes(): number {
    return this.config.uploadMaxBytes;
  }

  /** What can be known before the content: size and extension. Errors: `file_too_large`, `empty_file`, `unsupported_type`. */
  checkUpload(name: string, bytes: number): void {
    checkUpload({ name, bytes }, { maxBytes: this.config.uploadMaxBytes, types: this.#types });
  }

  /**
   * Takes a complete upload in: name, digest and content are checked, the object is written and read back, then the row appears.
   * Errors: `invalid_name`, `checksum_mismatch`, `unsupported_type`, `unreadable_file`, `empty_file`, `not_found` (session).
   */
  async ingest(caller: Caller, incoming: Incoming): Promise<File> {
    try {
      const file = await span(STEPS.upload, { 'moli.bytes': incoming.bytes }, () => this.#take(caller, incoming));
      this.metrics.uploads.inc({ outcome: 'ok' });
      return file;
    } catch (error) {
      this.metrics.uploads.inc({ outcome: error instanceof AppError && !error.retryable ? 'refused' : 'failed' });
      throw error;
    }
  }

  async #take(caller: Caller, incoming: Incoming): Promise<File> {
    const name = acceptFileName(incoming.name);
    this.checkUpload(name, incoming.bytes);
    const before = await this.#finished(caller, incoming.uploadId);
    if (before) return before;
    const sha256 = await digestOf(incoming.path);
    if (incoming.sha256 && incoming.sha256 !== sha256) throw digestDiffers(name);
    const description = await describeFile({ path: incoming.path }, { name, types: this.#types });
    const id = newId('file');
    const key = objectKey(caller.tenantId, 'files', id);
    await this.objects.put(key, createReadStream(incoming.path), { bytes: incoming.bytes, sha256, ifAbsent: true });
    try {
      await this.#confirm(key, incoming.bytes, sha256);
      return await this.#record(caller, incoming, { id, name, sha256, key, description });
    } catch (error) {
      await this.objects.delete(key);
      throw error;
    }
  }

  async #finished(caller: Caller, uploadId: string | undefined): Promise<File | null> {
    if (!uploadId) return null;
    const row = await this.db.as(caller.tenantId, (tx) => this.store.byUpload(tx, uploadId));
    return row && viewOf(row);
  }

  /** The file id of a finished upload, or null: lets a client whose last answer was lost learn it. */
  async finishedUpload(caller: Caller, uploadId: string): Promise<string | null> {
    return (await this.#finished(caller, uploadId))?.id ?? null;
  }

  async #confirm(key: string, bytes: number, sha256: string): Promise<void> {
    const kept = await this.objects.stat(key);
    if (kept?.bytes === bytes && kept.sha256 === sha256) return;
    throw new AppError('unavailable', {
      zh: '文件已上传，但对象存储读回的内容不一致，已放弃保存。请重新上传；若再次发生，请联系管理员检查存储。',
      en: 'The file arrived, but object storage did not give the same content back, so it was not kept. Upload it again; if it happens again, ask an administrator to check the storage.',
    });
  }

  async #record(
    caller: Caller,
    incoming: Incoming,
    made: { id: string; name: string; sha256: string; key: string; description: FileDescription },
  ): Promise<File> {
    const { row, isNew } = await this.db.as(caller.tenantId, async (tx) => {
      if (incoming.sessionId) await this.#checkSession(tx, caller, incoming.sessionId);
      const result = await this.store.insert(tx, {
        id: made.id,
        session_id: incoming.sessionId,
        user_id: caller.userId,
        upload_id: incoming.uploadId ?? null,
        name: made.name,
        bytes: incoming.bytes,
        sha256: made.sha256,
        mime_type: made.description.mimeType,
        object_key: made.key,
        description: made.description,
      });
      if (result.isNew)
        await this.audit.append(tx, caller, {
          action: 'file.create',
          target: result.row.id,
          outcome: 'ok',
          detail: { bytes: incoming.bytes, sha256: made.sha256, mimeType: made.description.mimeType },
        });
      return result;
    });
    if (isNew) this.metrics.uploadBytes.inc(incoming.bytes);
    else await this.objects.delete(made.key);
    return viewOf(row);
  }

  async #checkSession(tx: TenantTx, caller: Caller, sessionId: string): Promise<void> {
    if (!(await this.sessions.get(tx, caller, sessionId))) throw sessionNotFound();
  }
}

function digestDiffers(name: string): AppError {
  return new AppError('checksum_mismatch', {
    zh: `“${name}”收到的内容与给出的 SHA-256 不一致，没有保存。请重新上传。`,
    en: `The content received for “${name}” does not match the SHA-256 that was given, so it was not kept. Upload it again.`,
  });
}
