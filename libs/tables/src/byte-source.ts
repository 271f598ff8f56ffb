import { type FileHandle, open } from 'node:fs/promises';
import type { FileSource } from './description.ts';

/** Bytes a read. Each is worked on for a few milliseconds, then the event loop has its turn. */
const PIECE_BYTES = 128 * 1024;

/** Reads a source from its start as often as it is asked. Close it when done. */
export class ByteSource {
  readonly bytes: number;
  readonly origin: FileSource;
  readonly #handle: FileHandle | null;
  readonly #buffer: Buffer | null;

  private constructor(origin: FileSource, bytes: number, handle: FileHandle | null, buffer: Buffer | null) {
    this.origin = origin;
    this.bytes = bytes;
    this.#handle = handle;
    this.#buffer = buffer;
  }

  static async open(source: FileSource): Promise<ByteSource> {
    if ('buffer' in source) {
      const { buffer, byteOffset, byteLength } = source.buffer;
      return new ByteSource(source, byteLength, null, Buffer.from(buffer, byteOffset, byteLength));
    }
    const handle = await open(source.path);
    return new ByteSource(source, (await handle.stat()).size, handle, null);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Up to `length` bytes from `position`; fewer only at the end. */
  async read(position: number, length: number): Promise<Buffer> {
    const size = Math.max(Math.min(length, this.bytes - position), 0);
    if (this.#buffer) return this.#buffer.subarray(position, position + size);
    const target = Buffer.allocUnsafe(size);
    let done = 0;
    while (done < size) {
      const { bytesRead } = await this.#handle!.read(target, done, size - done, position + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return target.subarray(0, done);
  }

  /** The whole content in pieces, with a turn of the event loop between them. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (let position = 0; position < this.bytes; position += PIECE_BYTES) {
      const piece = await this.read(position, PIECE_BYTES);
      if (piece.length === 0) return;
      yield piece;
      if (this.#buffer) await new Promise((turn) => setImmediate(turn));
    }
  }
}
