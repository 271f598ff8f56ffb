import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@moli/errors';
import { acceptFileName } from '@moli/objects';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { FileStore } from '@tus/file-store';
import { Server, type Upload } from '@tus/server';
import type { ServerRequest } from 'srvx';
import type { GatewayConfig } from '../config.ts';
import { FileIntake } from '../files/file-intake.ts';
import { FilesService } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { isId, newId } from '../ids.ts';
import { CONFIG } from '../tokens.ts';
import { uploadNotFound } from './uploads.errors.ts';

/** What one request carries through the tus server: who asks, and the refusal that its hooks decided on. */
export interface UploadContext {
  readonly caller: Caller;
  refusal?: AppError;
}

/** How long the spool file of a finished upload stays, so that a client whose last answer was lost still learns its file id. */
const FINISHED_KEPT_MS = 10 * 60_000;
const SWEEP_MS = 5 * 60_000;
const SHA256 = /^[0-9a-f]{64}$/;

/** Resumable uploads (tus 1.0): pieces land in a spool folder; the complete file goes to `FilesService`. */
@Injectable()
export class UploadsService implements OnModuleInit, OnModuleDestroy {
  readonly tus: Server;
  readonly context = new AsyncLocalStorage<UploadContext>();
  /** Of one file; the intake refuses more, the protocol only tells it. */
  readonly maxBytes: number;
  readonly #store: FileStore;
  readonly #directory: string;
  readonly #expiryMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) config: GatewayConfig,
    private readonly files: FilesService,
    private readonly intake: FileIntake,
  ) {
    this.maxBytes = config.uploadMaxBytes;
    this.#directory = config.uploadDir;
    this.#expiryMs = config.uploadExpirySeconds * 1000;
    this.#store = new FileStore({ directory: this.#directory, expirationPeriodInMilliseconds: this.#expiryMs });
    this.#store.extensions = this.#store.extensions.filter((name) => name !== 'creation-defer-length');
    this.tus = new Server({
      path: '/api/upload',
      datastore: this.#store,
      relativeLocation: true,
      // The default allows every origin.
      allowedOrigins: () => false,
      exposedHeaders: ['Moli-File-Id'],
      namingFunction: () => newId('upl'),
      getFileIdFromRequest: (_request, last) => (isId('upl', last) ? last : undefined),
      onIncomingRequest: (request, id) => this.#checkOwner(request, id),
      onUploadCreate: (_request, upload) => this.#create(upload),
      onUploadFinish: (_request, upload) => this.#finish(upload),
    });
  }

  async onModuleInit(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    this.#timer = setInterval(() => {
      this.sweep().catch((error: unknown) => log.warn('the sweep of uploads failed', { error }));
    }, SWEEP_MS);
    this.#timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  /** The file id of a finished upload, for the answer to HEAD. */
  async fileOf(caller: Caller, uploadId: string): Promise<string | null> {
    return this.intake.finishedUpload(caller, uploadId);
  }

  /** Removes spool files of uploads that expired or were finished a while ago; answers how many. */
  async sweep(now = Date.now()): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#directory)) {
      if (!isId('upl', name)) continue;
      const upload = await this.#store.getUpload(name).catch(() => null);
      if (!upload) continue;
      const { mtimeMs } = await stat(join(this.#directory, name));
      const born = upload.creation_date ? Date.parse(upload.creation_date) : mtimeMs;
      const finished = upload.offset === upload.size && now - mtimeMs > FINISHED_KEPT_MS;
      if (!finished && now - born <= this.#expiryMs) continue;
      await this.#store.remove(name);
      removed += 1;
    }
    return removed;
  }

  #caller(): Caller {
    const context = this.context.getStore();
    if (!context) throw new Error('an upload was handled outside of its request');
    return context.caller;
  }

  /** The library turns what hooks throw into its own answer; the refusal itself travels beside it. */
  async #refusing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const context = this.context.getStore();
      if (context && error instanceof AppError) {
        context.refusal = error;
        throw { status_code: error.status, body: error.code };
      }
      throw error;
    }
  }

  /** Only who began an upload may go on with it; to anyone else it does not exist. */
  async #checkOwner(request: ServerRequest, id: string): Promise<void> {
    if (request.method === 'POST') return;
    await this.#refusing(async () => {
      const upload = await this.#store.getUpload(id).catch(() => null);
      if (upload?.metadata?.owner !== ownerOf(this.#caller())) throw uploadNotFound();
    });
  }

  async #create(upload: Upload): Promise<{ metadata: Record<string, string | null> }> {
    return this.#refusing(async () => {
      const { filename, sessionId, sha256 } = upload.metadata ?? {};
      const name = acceptFileName(filename ?? '');
      this.intake.checkUpload(name, upload.size ?? 0);
      if (sha256 && !SHA256.test(sha256))
        throw new AppError(
          'bad_request',
          {
            zh: '上传元数据 sha256 应为 64 位小写十六进制。',
            en: 'The upload metadata sha256 has to be 64 lower-case hexadecimal digits.',
          },
          { fields: { field: 'sha256' } },
        );
      if (sessionId) await this.files.checkSession(this.#caller(), sessionId);
      return {
        metadata: {
          filename: name,
          owner: ownerOf(this.#caller()),
          ...(sessionId ? { sessionId } : {}),
          ...(sha256 ? { sha256 } : {}),
        },
      };
    });
  }

  /** Runs again on an empty PATCH at the end; the upload id makes that harmless. A refused file leaves no spool behind. */
  async #finish(upload: Upload): Promise<{ headers: Record<string, string> }> {
    return this.#refusing(async () => {
      const { filename, sessionId, sha256 } = upload.metadata ?? {};
      try {
        const file = await this.intake.ingest(this.#caller(), {
          path: join(this.#directory, upload.id),
          bytes: upload.size ?? 0,
          name: filename ?? '',
          sessionId: sessionId ?? null,
          uploadId: upload.id,
          ...(sha256 ? { sha256 } : {}),
        });
        return { headers: { 'Moli-File-Id': file.id } };
      } catch (error) {
        if (error instanceof AppError && !error.retryable) await this.#store.remove(upload.id);
        throw error;
      }
    });
  }
}

const ownerOf = ({ tenantId, userId, keyId }: Caller): string => `${tenantId}/${userId ?? keyId ?? ''}`;
