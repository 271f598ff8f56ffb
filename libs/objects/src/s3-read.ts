import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { objectAltered, objectNotFound } from './object-errors.ts';
import { SHA256_META } from './s3-client.ts';
import type { S3Door } from './s3-door.ts';
import { codeOf, faultOf } from './s3-fault.ts';
import { pause } from './s3-retry.ts';

/** Times a body is asked for again without one more byte having come. */
const RESUMES = 4;

export interface Head {
  readonly bytes: number;
  readonly sha256: string;
  readonly etag: string;
}

/** An answer to GET, with what its headers say of the whole object. */
export interface Opened extends Head {
  readonly response: IncomingMessage;
  readonly start: number;
  readonly end: number;
}

const ABSENT = new Set(['NoSuchKey', 'NotFound', 'NoSuchVersion']);
export const isAbsent = (error: unknown): boolean => ABSENT.has(codeOf(error));

/** Asks for bytes from `start` on, up to `end` or the last. Errors: `not_found`, `checksum_mismatch`, `S3Unavailable`. */
export async function openBody(
  door: S3Door,
  key: string,
  range: { start: number; end?: number },
  etag?: string,
): Promise<Opened> {
  const whole = range.start === 0 && range.end === undefined;
  const headers = {
    ...(whole ? {} : { range: `bytes=${range.start}-${range.end ?? ''}` }),
    ...(etag === undefined ? {} : { 'if-match': `"${etag}"` }),
  };
  const response = await door
    .run((client) =>
      client.makeRequestAsync(
        { method: 'GET', bucketName: door.bucket, objectName: key, headers },
        '',
        whole ? [200] : [206],
      ),
    )
    .catch((error: unknown) => {
      const cause = error instanceof Error ? error.cause : undefined;
      if (isAbsent(cause)) throw objectNotFound(key);
      // It was replaced since its first byte was read.
      if (codeOf(cause) === 'PreconditionFailed') throw objectAltered(key);
      throw error;
    });
  const { headers: got } = response;
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(got['content-range'] ?? '');
  const bytes = match ? Number(match[3]) : Number(got['content-length']);
  const sha256 = got[`x-amz-meta-${SHA256_META}`];
  if (typeof sha256 !== 'string' || !Number.isSafeInteger(bytes)) {
    response.destroy();
    throw objectAltered(key);
  }
  return {
    response,
    bytes,
    sha256,
    etag: unquoted(got.etag),
    start: match ? Number(match[1]) : 0,
    end: match ? Number(match[2]) : bytes - 1,
  };
}

export const unquoted = (etag: string | undefined): string => (etag ?? '').replaceAll('"', '');

/**
 * The bytes of an opened object. A body that breaks off is asked for again from where it stopped, and only of the same object. A whole one is
 * compared with its digest before its last piece leaves.
 */
export function readBody(door: S3Door, key: string, opened: Opened): Readable {
  const stream = Readable.from(pieces(door, key, opened), { objectMode: false, highWaterMark: 256 * 1024 });
  // A stream that is closed before it was read never starts its generator.
  stream.once('close', () => opened.response.destroy());
  return stream;
}

async function* pieces(door: S3Door, key: string, opened: Opened): AsyncGenerator<Buffer> {
  const { start, end, bytes, sha256, etag } = opened;
  const hash = start === 0 && end === bytes - 1 ? createHash('sha256') : null;
  let { response } = opened;
  let position = start;
  let held: Buffer | undefined;
  for (let attempt = 1; ; attempt += 1) {
    let broken: unknown;
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        position += piece.length;
        if (position > end + 1) throw objectAltered(key);
        hash?.update(piece);
        attempt = 1;
        if (held) yield held;
        held = piece;
      }
    } catch (error) {
      if (position > end + 1) throw error;
      broken = error;
    }
    if (position === end + 1) break;
    if (attempt > RESUMES)
      throw faultOf(broken ?? Object.assign(new Error('the body ended early'), { code: 'ECONNRESET' }));
    await pause(attempt);
    ({ response } = await openBody(door, key, { start: position, end }, etag));
  }
  if (hash && hash.digest('hex') !== sha256) throw objectAltered(key);
  if (held) yield held;
}
