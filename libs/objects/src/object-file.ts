import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type Content, ContentMeter, piecesOf } from './content-meter.ts';
import { objectAltered } from './object-errors.ts';
import type { PutExpectation } from './object-store.ts';

/**
 * An object on disk is its content followed by one line with its digest and size. Content and digest in one file change
 * together by one rename; with a second file beside it a crash could leave a pair that does not belong together.
 */
const TRAILER = /^\nmoli-object 1 ([0-9a-f]{64}) ([0-9]{16})\n$/;
export const TRAILER_BYTES = 97;
/** Bytes a read; large enough that hashing dominates, small enough that 50 open downloads hold 13 MB. */
const PIECE_BYTES = 256 * 1024;

const trailerOf = ({ bytes, sha256 }: Content) => `\nmoli-object 1 ${sha256} ${String(bytes).padStart(16, '0')}\n`;

/** Writes body and trailer and brings them to the disk. Reads the body piece by piece: a slow disk slows its source down. */
export async function writeObject(
  handle: FileHandle,
  body: Uint8Array | Readable,
  expected: PutExpectation,
): Promise<Content> {
  const meter = new ContentMeter(expected);
  for await (const data of piecesOf(body)) {
    meter.add(data);
    await writeAll(handle, data);
  }
  const content = meter.finish();
  await writeAll(handle, Buffer.from(trailerOf(content)));
  await handle.sync();
  return content;
}

async function writeAll(handle: FileHandle, data: Uint8Array): Promise<void> {
  let done = 0;
  while (done < data.byteLength) done += (await handle.write(data, done)).bytesWritten;
}

/** Reads what the trailer says. Errors: `checksum_mismatch` where the file is not whole. */
export async function readTrailer(handle: FileHandle, key: string): Promise<Content> {
  const { size } = await handle.stat();
  const buffer = Buffer.alloc(TRAILER_BYTES);
  if (size >= TRAILER_BYTES) await handle.read(buffer, 0, TRAILER_BYTES, size - TRAILER_BYTES);
  const match = TRAILER.exec(buffer.toString('latin1'));
  const content = match ? { sha256: match[1]!, bytes: Number(match[2]) } : null;
  if (!content || content.bytes !== size - TRAILER_BYTES) throw objectAltered(key);
  return content;
}

/** Streams bytes `start` to `end` (inclusive) of an object file and closes the handle. A whole read is verified before its last piece leaves. */
export class ObjectReadable extends Readable {
  readonly #handle: FileHandle;
  readonly #key: string;
  readonly #sha256: string;
  readonly #hash: Hash | null;
  readonly #after: number;
  #position: number;

  constructor(handle: FileHandle, key: string, content: Content, range: { start: number; end: number }) {
    super({ highWaterMark: PIECE_BYTES });
    this.#handle = handle;
    this.#key = key;
    this.#sha256 = content.sha256;
    this.#position = range.start;
    this.#after = range.end + 1;
    this.#hash = range.start === 0 && this.#after === content.bytes ? createHash('sha256') : null;
  }

  override _read(): void {
    this.#next().then(
      (piece) => {
        if (!this.destroyed) this.push(piece);
      },
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#handle.close().then(
      () => done(error),
      (failed: Error) => done(error ?? failed),
    );
  }

  async #next(): Promise<Buffer | null> {
    const left = this.#after - this.#position;
    if (left === 0) return null;
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, left));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, this.#position);
    if (bytesRead === 0) throw objectAltered(this.#key);
    const piece = buffer.subarray(0, bytesRead);
    this.#position += bytesRead;
    this.#hash?.update(piece);
    if (this.#position === this.#after && this.#hash && this.#hash.digest('hex') !== this.#sha256)
      throw objectAltered(this.#key);
    return piece;
  }
}
