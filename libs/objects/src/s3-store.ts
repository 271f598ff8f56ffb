import { Readable } from 'node:stream';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Client } from 'minio';
import { contentDisposition, shownInline } from './content-disposition.ts';
import { expiry, requireSignable } from './link-signature.ts';
import { boundedRange, objectAltered } from './object-errors.ts';
import { requireKey, requirePrefix } from './object-key.ts';
import type {
  ByteRange,
  LinkReach,
  ObjectPage,
  ObjectStore,
  OpenObject,
  PutExpectation,
  SignedLink,
  SignedPut,
  SignGetOptions,
  SignPutOptions,
  StoredObject,
} from './object-store.ts';
import { type BucketState, prepareBucket, UNFINISHED_PREFIX } from './s3-bucket.ts';
import { awsConfig, encryptionHeaders, makeClient, type S3Options, SHA256_META } from './s3-client.ts';
import { S3Door } from './s3-door.ts';
import { codeOf, S3Unavailable } from './s3-fault.ts';
import { openBody, readBody } from './s3-read.ts';
import { headOf, writeObject } from './s3-write.ts';

const LARGEST_PAGE = 1000;

/** Objects in one bucket of an S3 server, shared by any number of gateways. Call `open()` once before anything else. */
export class S3ObjectStore implements ObjectStore {
  readonly kind = 's3';
  readonly #door: S3Door;
  readonly #readers: Readonly<Record<LinkReach, Client>>;
  readonly #signers: Readonly<Record<LinkReach, S3Client>>;

  constructor(options: S3Options) {
    this.#door = new S3Door(options);
    const publicEndpoint = options.publicEndpoint ?? options.endpoint;
    this.#readers = { public: makeClient(options, publicEndpoint), internal: this.#door.client };
    this.#signers = {
      public: new S3Client(awsConfig(options, publicEndpoint)),
      internal: new S3Client(awsConfig(options, options.endpoint)),
    };
  }

  /** Makes or checks the bucket; uploads not finished within `unfinishedDays` may be removed by the server. Errors: `S3Unavailable`. */
  async open(unfinishedDays: number): Promise<BucketState> {
    return prepareBucket(this.#door, unfinishedDays);
  }

  async check(): Promise<void> {
    await this.#door.run((client) => client.listObjectsV2Query(this.#door.bucket, UNFINISHED_PREFIX, '', '', 1, ''), 1);
  }

  async put(key: string, body: Uint8Array | Readable, expected: PutExpectation = {}): Promise<StoredObject> {
    requireKey(key);
    // A stream can fail while nobody listens yet; its reader gets the same error.
    if (body instanceof Readable) body.on('error', () => {});
    return { key, ...(await writeObject(this.#door, key, body, expected)) };
  }

  async get(key: string, range?: ByteRange): Promise<OpenObject> {
    requireKey(key);
    if (range && !isForward(range)) await this.#refuseRange(key, range);
    const opened = await openBody(this.#door, key, range ?? { start: 0 }).catch(async (error: unknown) => {
      const outside = range && error instanceof S3Unavailable && codeOf(error.cause) === 'InvalidRange';
      throw outside ? await this.#refuseRange(key, range) : error;
    });
    const { bytes, sha256, start, end } = opened;
    return { key, bytes, sha256, range: { start, end }, stream: readBody(this.#door, key, opened) };
  }

  /** Says how large the object is, which only the server knows. */
  async #refuseRange(key: string, range: ByteRange): Promise<never> {
    const found = await this.stat(key);
    boundedRange(range, found?.bytes ?? 0);
    throw objectAltered(key);
  }

  async stat(key: string): Promise<StoredObject | null> {
    const head = await headOf(this.#door, requireKey(key));
    if (!head) return null;
    const sha256 = head.metaData[SHA256_META];
    if (typeof sha256 !== 'string') throw objectAltered(key);
    return { key, bytes: head.size, sha256 };
  }

  async list(prefix: string, options: { limit?: number; after?: string } = {}): Promise<ObjectPage> {
    requirePrefix(prefix, true);
    const limit = Math.min(Math.max(Math.floor(options.limit ?? LARGEST_PAGE), 1), LARGEST_PAGE);
    const { objects, isTruncated, nextContinuationToken } = await this.#door.run((client) =>
      client.listObjectsV2Query(this.#door.bucket, prefix, options.after ?? '', '', limit, ''),
    );
    const items = objects.map(({ name, size }) => ({ key: String(name), bytes: size }));
    items.sort((a, b) => (a.key < b.key ? -1 : 1));
    return { items, next: isTruncated ? nextContinuationToken : null };
  }

  async delete(key: string): Promise<void> {
    requireKey(key);
    await this.#door.run((client) => client.removeObject(this.#door.bucket, key));
  }

  async deletePrefix(prefix: string): Promise<number> {
    requirePrefix(prefix, false);
    let count = 0;
    for (let after: string | null = ''; after !== null; ) {
      const page: ObjectPage = await this.list(prefix, after === '' ? {} : { after });
      const keys = page.items.map(({ key }) => key);
      if (keys.length > 0) await this.#deleteAll(keys);
      count += keys.length;
      after = page.next;
    }
    return count;
  }

  async #deleteAll(keys: string[]): Promise<void> {
    await this.#door.run(async (client) => {
      const failed = (await client.removeObjects(this.#door.bucket, keys)) as { Code?: string }[];
      const code = failed[0]?.Code;
      if (code !== undefined) throw Object.assign(new Error('an object could not be deleted'), { code });
    });
  }

  async signGet(key: string, options: SignGetOptions): Promise<SignedLink> {
    const { expiresInSeconds, downloadName, contentType = 'application/octet-stream', reach = 'public' } = options;
    requireSignable({ method: 'GET', key: requireKey(key), contentType });
    const now = new Date();
    const expiresAt = expiry(expiresInSeconds, now);
    const inline = downloadName === undefined && shownInline(contentType);
    // Said in the link, since the object itself keeps what its writer claimed: HTML of a run must never be shown as a page.
    const url = await this.#readers[reach].presignedGetObject(
      this.#door.bucket,
      key,
      Math.floor(expiresInSeconds),
      {
        'response-content-type': contentType,
        'response-content-disposition': inline
          ? 'inline'
          : contentDisposition(downloadName ?? key.split('/').at(-1)!, 'attachment'),
        'response-cache-control': 'private, no-store',
      },
      now,
    );
    return { url, expiresAt };
  }

  async signPut(key: string, options: SignPutOptions): Promise<SignedPut> {
    const { bytes, sha256, contentType, expiresInSeconds, reach = 'public' } = options;
    requireSignable({ method: 'PUT', key: requireKey(key), bytes, sha256, contentType });
    const now = new Date();
    const expiresAt = expiry(expiresInSeconds, now);
    const checksum = Buffer.from(sha256, 'hex').toString('base64');
    const { encryption } = this.#door.options;
    const headers = {
      'content-type': contentType,
      'if-none-match': '*',
      'x-amz-checksum-sha256': checksum,
      [`x-amz-meta-${SHA256_META}`]: sha256.toLowerCase(),
      ...encryptionHeaders(this.#door.options),
    };
    const command = new PutObjectCommand({
      Bucket: this.#door.bucket,
      Key: key,
      ContentLength: bytes,
      ContentType: contentType,
      IfNoneMatch: '*',
      ChecksumSHA256: checksum,
      Metadata: { [SHA256_META]: sha256.toLowerCase() },
      ...(encryption === 'none' ? {} : { ServerSideEncryption: encryption }),
    });
    // By default the type is not signed and x-amz-… move into the query, where servers do not always look at them.
    const url = await getSignedUrl(this.#signers[reach], command, {
      expiresIn: Math.floor(expiresInSeconds),
      signingDate: now,
      unhoistableHeaders: new Set(Object.keys(headers)),
      signableHeaders: new Set(['host', 'content-length', ...Object.keys(headers)]),
    });
    return { url, expiresAt, headers };
  }

  /** Of uploads in parts; those below `unfinished/` belong to whoever keeps them there. */
  async sweepTemporary(olderThanSeconds: number): Promise<number> {
    const before = Date.now() - olderThanSeconds * 1000;
    const { bucket } = this.#door;
    let count = 0;
    for (let marker = ''; ; ) {
      const page = await this.#door.run((client) => client.listIncompleteUploadsQuery(bucket, '', marker, '', ''));
      for (const upload of page.uploads) {
        if (upload.key.startsWith(UNFINISHED_PREFIX) || upload.initiated.getTime() > before) continue;
        if (await this.#abort(upload.key, upload.uploadId)) count += 1;
      }
      if (!page.isTruncated || page.nextKeyMarker === marker) return count;
      marker = page.nextKeyMarker;
    }
  }

  async #abort(key: string, uploadId: string): Promise<boolean> {
    try {
      await this.#door.run((client) => client.abortMultipartUpload(this.#door.bucket, key, uploadId));
      return true;
    } catch (error) {
      // Finished or swept by another gateway in between.
      if (codeOf((error as Error).cause) === 'NoSuchUpload') return false;
      throw error;
    }
  }
}

const isForward = ({ start, end }: ByteRange): boolean =>
  Number.isInteger(start) && start >= 0 && (end === undefined || (Number.isInteger(end) && end >= start));
