import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Client } from 'minio';
import { type Content, ContentMeter, piecesOf } from './content-meter.ts';
import { keyTaken } from './object-errors.ts';
import type { PutExpectation } from './object-store.ts';
import { encryptionHeaders, md5, PART_BYTES, SHA256_META, WRITE_META } from './s3-client.ts';
import type { S3Door } from './s3-door.ts';
import { codeOf } from './s3-fault.ts';

type Parts = AsyncIterable<Buffer>;

/** Parts of one upload that are on their way together: hides the time that a server takes to answer, at 8 MiB of memory each. */
const PARTS_AT_ONCE = 3;

/**
 * Writes an object whole or not at all: up to 8 MiB in one request, more in parts that are joined at the end. The digest is kept with the object,
 * so it must be known when writing begins: a large body of unknown digest waits in a temporary file first.
 */
export async function writeObject(
  door: S3Door,
  key: string,
  body: Uint8Array | Readable,
  expected: PutExpectation,
): Promise<Content> {
  const meter = new ContentMeter(expected);
  const parts = inParts(piecesOf(body), meter);
  const { value: first } = await parts.next();
  const { value: second } = await parts.next();
  if (!second) {
    const content = meter.finish();
    await new Write(door, key, content.sha256, expected.ifAbsent).whole(first ?? Buffer.alloc(0));
    return content;
  }
  const all = joined([first as Buffer, second], parts);
  if (expected.sha256 !== undefined) {
    const write = new Write(door, key, expected.sha256.toLowerCase(), expected.ifAbsent);
    return write.inParts(all, () => meter.finish());
  }
  return spooled(all, async (path) => {
    const content = meter.finish();
    const again = inParts(piecesOf(createReadStream(path)), new ContentMeter({ ...expected, ...content }));
    return new Write(door, key, content.sha256, expected.ifAbsent).inParts(again, () => content);
  });
}

/** One write of one object. */
class Write {
  readonly #door: S3Door;
  readonly #key: string;
  readonly #ifAbsent: boolean;
  readonly #mark = randomUUID();
  readonly #headers: Readonly<Record<string, string>>;

  constructor(door: S3Door, key: string, sha256: string, ifAbsent = false) {
    this.#door = door;
    this.#key = key;
    this.#ifAbsent = ifAbsent;
    this.#headers = {
      'content-type': 'application/octet-stream',
      [`x-amz-meta-${SHA256_META}`]: sha256,
      [`x-amz-meta-${WRITE_META}`]: this.#mark,
      ...encryptionHeaders(door.options),
    };
  }

  async whole(data: Buffer): Promise<void> {
    // Not every server compares the signed hash of a request with its body; a checksum of its own they all look at.
    const checksum = createHash('sha256').update(data).digest('base64');
    const headers = { ...this.#headers, ...this.#condition(), 'x-amz-checksum-sha256': checksum };
    const request = { method: 'PUT', bucketName: this.#door.bucket, objectName: this.#key, headers };
    await this.#publish((client) => client.makeRequestAsyncOmit({ ...request, headers: { ...headers } }, data));
  }

  /** `finish` is called when all parts are there; what it throws leaves nothing behind. */
  async inParts(parts: Parts, finish: () => Content): Promise<Content> {
    const { bucket } = this.#door;
    if (this.#ifAbsent && (await this.#markOfObject()) !== null) throw keyTaken(this.#key);
    const uploadId = await this.#door.run((client) =>
      client.initiateNewMultipartUpload(bucket, this.#key, { ...this.#headers }),
    );
    const sent: Promise<string>[] = [];
    try {
      for await (const part of parts) {
        const etag = this.#part(uploadId, sent.length + 1, part);
        // It is awaited below, perhaps after another one has failed.
        etag.catch(() => {});
        sent.push(etag);
        await sent.at(-PARTS_AT_ONCE);
      }
      const etags = await Promise.all(sent);
      const content = finish();
      await this.#publish((client) => this.#complete(client, uploadId, etags));
      return content;
    } catch (error) {
      await Promise.allSettled(sent);
      // What cannot be taken away now is found by the sweep.
      await this.#door.run((client) => client.abortMultipartUpload(bucket, this.#key, uploadId), 1).catch(() => {});
      throw error;
    }
  }

  #condition(): Record<string, string> {
    return this.#ifAbsent ? { 'if-none-match': '*' } : {};
  }

  async #part(uploadID: string, partNumber: number, data: Buffer): Promise<string> {
    const headers = { 'content-md5': md5(data) };
    const part = { bucketName: this.#door.bucket, objectName: this.#key, uploadID, partNumber, headers };
    const { etag } = await this.#door.run((client) => client.uploadPart(part, data));
    return etag;
  }

  async #complete(client: Client, uploadId: string, etags: readonly string[]): Promise<void> {
    const listed = etags.map((etag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`);
    const response = await client.makeRequestAsync(
      {
        method: 'POST',
        bucketName: this.#door.bucket,
        objectName: this.#key,
        query: `uploadId=${encodeURIComponent(uploadId)}`,
        headers: { 'content-type': 'application/xml', ...this.#condition() },
      },
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${listed.join('')}</CompleteMultipartUpload>`,
    );
    let answer = '';
    for await (const piece of response.setEncoding('utf8')) answer += piece;
    // Joining can fail after the status was sent.
    const failed = /<Error>.*?<Code>(\w+)<\/Code>/s.exec(answer);
    if (failed) throw Object.assign(new Error('the parts could not be joined'), { code: failed[1] });
  }

  /**
   * The step that makes the object visible. When the answer to an earlier try was lost, the object may be there already: then it bears our mark.
   * Errors: `conflict` where the key was to be free and is not.
   */
  async #publish(step: (client: Client) => Promise<unknown>): Promise<void> {
    await this.#door.run(async (client, attempt) => {
      try {
        await step(client);
      } catch (error) {
        const code = codeOf(error);
        const already = code === 'PreconditionFailed' || code === 'NoSuchUpload';
        if (already && attempt > 1 && (await this.#markOfObject()) === this.#mark) return;
        if (code === 'PreconditionFailed') throw keyTaken(this.#key);
        throw error;
      }
    });
  }

  async #markOfObject(): Promise<string | null> {
    const head = await headOf(this.#door, this.#key);
    return head && String(head.metaData[WRITE_META] ?? '');
  }
}

/** What the server says of an object, or null where there is none. */
export async function headOf(door: S3Door, key: string): ReturnType<typeof statOrNull> {
  return door.run((client) => statOrNull(client, door.bucket, key));
}

async function statOrNull(client: Client, bucket: string, key: string) {
  try {
    return await client.statObject(bucket, key);
  } catch (error) {
    if (['NotFound', 'NoSuchKey'].includes(codeOf(error))) return null;
    throw error;
  }
}

/** Pieces of any size as parts of `PART_BYTES`, the last one shorter. */
async function* inParts(pieces: AsyncIterable<Uint8Array>, meter: ContentMeter): AsyncGenerator<Buffer, undefined> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    meter.add(piece);
    let rest = piece;
    while (bytes + rest.byteLength >= PART_BYTES) {
      waiting.push(rest.subarray(0, PART_BYTES - bytes));
      rest = rest.subarray(PART_BYTES - bytes);
      yield Buffer.concat(waiting);
      [waiting, bytes] = [[], 0];
    }
    if (rest.byteLength > 0) waiting.push(rest);
    bytes += rest.byteLength;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* joined(first: readonly Buffer[], rest: Parts): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

async function spooled<T>(parts: Parts, work: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'moli-object-'));
  try {
    const path = join(folder, 'body');
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const part of parts) await file.writeFile(part);
    } finally {
      await file.close();
    }
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
