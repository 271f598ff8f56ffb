import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@moli/errors';
import { acceptFileName } from '@moli/objects';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Server, type Upload } from '@tus/server';
import type { Redis } from 'ioredis';
import type { ServerRequest } from 'srvx';
import type { GatewayConfig } from '../config.ts';
import { FileIntake } from '../files/file-intake.ts';
import { FilesService } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { isId, newId } from '../ids.ts';
import { s3Options } from '../objects/objects.provider.ts';
import { CONFIG, REDIS } from '../tokens.ts';
import { BucketSpool } from './bucket-spool.ts';
import { FolderSpool } from './folder-spool.ts';
import type { UploadSpool } from './upload-spool.ts';
import { uploadNotFound } from './uploads.errors.ts';

/** What one request carries through the tus server: who asks, and the refusal that its hooks decided on. */
export interface UploadContext {
  readonly caller: Caller;
  /** What has been read of uploads for this request. */
  readonly seen: Map<string, unknown>;
  refusal?: AppError;
}

const SWEEP_MS = 5 * 60_000;
const SHA256 = /^[0-9a-f]{64}$/;

/** Resumable uploads (tus 1.0): pieces land in a spool; the complete file goes to `FilesService`. */
@Injectable()
export class UploadsService implements OnModuleInit, OnModuleDestroy {
  readonly tus: Server;
  readonly context = new AsyncLocalStorage<UploadContext>();
  /** Of one file; the intake refuses more, the protocol only tells it. */
  readonly maxBytes: number;
  readonly #spool: UploadSpool;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(REDIS) redis: Redis,
    private readonly files: FilesService,
    private readonly intake: FileIntake,
  ) {
    this.maxBytes = config.uploadMaxBytes;
    this.#spool = this.#makeSpool(config, redis);
    const { datastore, prefix, locker } = this.#spool;
    datastore.extensions = datastore.extensions.filter((name) => name !== 'creation-defer-length');
    this.tus = new Server({
      path: '/api/upload',
      datastore,
      ...(locker ? { locker } : {}),
      generateUrl: (_request, { path, id }) => `${path}/${id.slice(prefix.length)}`,
      // The default allows every origin.
      allowedOrigins: () => false,
      exposedHeaders: ['Moli-File-Id'],
      namingFunction: () => prefix + newId('upl'),
      getFileIdFromRequest: (_request, last) => (isId('upl', last) ? prefix + last : undefined),
      onIncomingRequest: (request, id) => this.#checkOwner(request, id),
      onUploadCreate: (_request, upload) => this.#create(upload),
      onUploadFinish: (_request, upload) => this.#finish(upload),
    });
  }

  #makeSpool(config: GatewayConfig, redis: Redis): UploadSpool {
    const expiryMs = config.uploadExpirySeconds * 1000;
    if (config.objects === 'folder') return new FolderSpool(config.uploadDir, expiryMs);
    const seen = () => this.context.getStore()?.seen;
    return new BucketSpool({ s3: s3Options(config), expiryMs, redis, seen });
  }

  async onModuleInit(): Promise<void> {
    await this.#spool.open();
    this.#timer = setInterval(() => {
      this.sweep().catch((error: unknown) => log.warn('the sweep of uploads failed', { error }));
    }, SWEEP_MS);
    this.#timer.unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.#timer);
    await this.#spool.close();
  }

  /** The file id of a finished upload, for the answer to HEAD. */
  async fileOf(caller: Caller, uploadId: string): Promise<string | null> {
    return this.intake.finishedUpload(caller, uploadId);
  }

  /** Removes uploads that expired or were finished a while ago; answers how many. */
  async sweep(now = Date.now()): Promise<number> {
    return this.#spool.sweep(now);
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
      const upload = await this.#spool.datastore.getUpload(id).catch(() => null);
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
        const file = await this.#spool.withFile(upload, (path) =>
          this.intake.ingest(this.#caller(), {
            path,
            bytes: upload.size ?? 0,
            name: filename ?? '',
            sessionId: sessionId ?? null,
            uploadId: upload.id.slice(this.#spool.prefix.length),
            ...(sha256 ? { sha256 } : {}),
          }),
        );
        return { headers: { 'Moli-File-Id': file.id } };
      } catch (error) {
        if (error instanceof AppError && !error.retryable) await this.#spool.datastore.remove(upload.id);
        throw error;
      }
    });
  }
}

const ownerOf = ({ tenantId, userId, keyId }: Caller): string => `${tenantId}/${userId ?? keyId ?? ''}`;
