import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '@moli/errors';
import { awsConfig, type S3Options, UNFINISHED_PREFIX } from '@moli/objects';
import { type MetadataValue, S3Store } from '@tus/s3-store';
import { ERRORS, type KvStore, type Upload } from '@tus/server';
import type { Redis } from 'ioredis';
import { RedisLocker } from './redis-locker.ts';
import { FINISHED_KEPT_MS, type UploadSpool } from './upload-spool.ts';

/** S3 takes no smaller parts but the last. */
const PART_BYTES = 8 * 1024 * 1024;

interface Options {
  readonly s3: S3Options;
  readonly expiryMs: number;
  readonly redis: Redis;
  /** What one request has read of uploads, or undefined outside of requests. */
  readonly seen: () => Map<string, unknown> | undefined;
}

/** Uploads as multipart uploads of the bucket: whichever gateway gets the next piece goes on with them. */
export class BucketSpool implements UploadSpool {
  readonly datastore: BucketUploads;
  readonly prefix = UNFINISHED_PREFIX;
  readonly locker: RedisLocker;

  constructor(options: Options) {
    this.datastore = new BucketUploads(options);
    this.locker = new RedisLocker(options.redis);
  }

  async open(): Promise<void> {
    await this.locker.open();
  }

  async close(): Promise<void> {
    await this.locker.close();
  }

  async withFile<T>(upload: Upload, work: (path: string) => Promise<T>): Promise<T> {
    const folder = await mkdtemp(join(tmpdir(), 'moli-upload-'));
    try {
      const path = join(folder, 'content');
      const file = createWriteStream(path, { mode: 0o600 });
      try {
        await pipeline(await this.datastore.read(upload.id), file);
      } catch (error) {
        throw notReadBack(error);
      }
      if (file.bytesWritten !== upload.size)
        throw notReadBack(`${file.bytesWritten} of ${upload.size} bytes came back`);
      return await work(path);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  sweep(now: number): Promise<number> {
    return this.datastore.sweep(now);
  }
}

/** The library's store with what several gateways need: no memory of its own, and a removal that also works after the end. */
class BucketUploads extends S3Store {
  constructor({ s3, expiryMs, seen }: Options) {
    super({
      partSize: PART_BYTES,
      useTags: false,
      expirationPeriodInMilliseconds: expiryMs,
      cache: requestCache(seen),
      s3ClientConfig: { ...awsConfig(s3, s3.endpoint), bucket: s3.bucket },
    });
    const { encryption } = s3;
    if (encryption === 'none') return;
    // The library has no option for it.
    this.client.middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          next(
            commandName === 'PutObjectCommand' || commandName === 'CreateMultipartUploadCommand'
              ? { ...args, input: { ...args.input, ServerSideEncryption: encryption } }
              : args,
          ),
      { step: 'initialize', name: 'moliEncryption' },
    );
  }

  /** A finished upload is asked to finish again by a client that did not get the last answer. */
  override async write(source: Readable, id: string, offset: number): Promise<number> {
    try {
      return await super.write(source, id, offset);
    } catch (error) {
      const { file } = await this.getMetadata(id);
      if ((error as { name?: string }).name === 'NoSuchUpload' && offset === file.size) return offset;
      throw error;
    }
  }

  /** Of the library's own, the last part of a cut upload stays, and one that is finished cannot be removed at all. */
  override async remove(id: string): Promise<void> {
    const { 'upload-id': UploadId } = await this.getMetadata(id).catch(() => {
      throw ERRORS.FILE_NOT_FOUND;
    });
    await this.client.abortMultipartUpload({ Bucket: this.bucket, Key: id, UploadId }).catch((error: unknown) => {
      if ((error as { name?: string }).name !== 'NoSuchUpload') throw error;
    });
    // The information last: while it is there, a removal that broke off is begun again by the sweep.
    for (const Key of [id, this.partKey(id, true), this.infoKey(id)])
      await this.client.deleteObject({ Bucket: this.bucket, Key });
    await this.clearCache(id);
  }

  async sweep(now: number): Promise<number> {
    const uploads = await this.#list(now);
    let removed = 0;
    for (const [id, { begun, finished, newest }] of uploads) {
      const old = now - (begun ?? newest) > this.expirationPeriodInMilliseconds;
      if (!old && (begun === undefined || finished === undefined || now - finished <= FINISHED_KEPT_MS)) continue;
      if (await this.#removeAny(id, begun !== undefined)) removed += 1;
    }
    return removed;
  }

  /** What lies below the prefix, by upload: when its information was written, its whole content, and the last of anything. */
  async #list(now: number): Promise<Map<string, { begun?: number; finished?: number; newest: number }>> {
    const uploads = new Map<string, { begun?: number; finished?: number; newest: number }>();
    let ContinuationToken: string | undefined;
    do {
      const page = await this.client.listObjectsV2({
        Bucket: this.bucket,
        Prefix: UNFINISHED_PREFIX,
        ContinuationToken,
      });
      for (const { Key = '', LastModified } of page.Contents ?? []) {
        const id = Key.replace(/\.(info|part)$/, '');
        const time = LastModified?.getTime() ?? now;
        const known = uploads.get(id);
        uploads.set(id, {
          ...known,
          newest: Math.max(known?.newest ?? 0, time),
          ...(id === Key ? { finished: time } : {}),
          ...(Key.endsWith('.info') ? { begun: time } : {}),
        });
      }
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken);
    return uploads;
  }

  /** Another gateway may sweep at the same moment: what is gone is not counted. Without its information an upload is only objects. */
  async #removeAny(id: string, isWhole: boolean): Promise<boolean> {
    if (!isWhole) {
      for (const Key of [id, this.partKey(id, true)]) await this.client.deleteObject({ Bucket: this.bucket, Key });
      return true;
    }
    try {
      await this.remove(id);
      return true;
    } catch (error) {
      if (error === ERRORS.FILE_NOT_FOUND) return false;
      throw error;
    }
  }
}

/** The library asks for the same information several times a request. Kept longer, it would outlive uploads that another gateway removed. */
function requestCache(seen: () => Map<string, unknown> | undefined): KvStore<MetadataValue> {
  return {
    get: async (key) => seen()?.get(key) as MetadataValue | undefined,
    set: async (key, value) => void seen()?.set(key, value),
    delete: async (key) => void seen()?.delete(key),
  };
}

function notReadBack(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    {
      zh: '文件已全部收到，但从对象存储读回时出错。内容还在，请稍后重试完成上传。',
      en: 'The whole file has arrived, but object storage failed when it was read back. It is kept; try to finish the upload again in a moment.',
    },
    { cause, retryAfterSeconds: 1 },
  );
}
