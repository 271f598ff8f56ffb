import { escapeInvalid } from './lossless-text.ts';

/** Kept of each stream for the outcome: all of it up to here, beyond it the first and the last half. Equals the default output limit. */
export const KEEP_BYTES = 1024 * 1024;
const FIRST_ALLOCATION = 4_096;

/** The beginning and the end of a stream in bounded memory. */
export class KeptOutput {
  readonly #limit: number;
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;
  /** Ring with the newest bytes, used once the limit is passed. */
  #ring: Buffer | null = null;
  #ringAt = 0;
  #total = 0;

  constructor(limit: number = KEEP_BYTES) {
    this.#limit = limit;
  }

  /** Bytes seen, kept or not. */
  get total(): number {
    return this.#total;
  }

  /** Whether the middle is missing. */
  get cut(): boolean {
    return this.#total > this.#limit;
  }

  push(piece: Uint8Array): void {
    this.#total += piece.byteLength;
    if (this.#ring) {
      this.#intoRing(piece);
      return;
    }
    const room = this.#limit - this.#used;
    this.#append(piece.subarray(0, room));
    if (piece.byteLength > room) this.#startRing(piece.subarray(room));
  }

  /** The kept bytes; when cut, with a line in place of the middle that says how much is missing. */
  text(): string {
    if (!this.#ring) return escapeInvalid(this.#bytes.subarray(0, this.#used));
    const [head, tail] = this.#halves();
    const missing = this.#total - head.byteLength - tail.byteLength;
    return `${escapeInvalid(head)}\n… ${missing} bytes …\n${escapeInvalid(tail)}`;
  }

  /** The kept bytes as they are, joined. */
  bytes(): Buffer {
    return this.#ring ? Buffer.concat(this.#halves()) : Buffer.from(this.#bytes.subarray(0, this.#used));
  }

  #append(piece: Uint8Array): void {
    const needed = this.#used + piece.byteLength;
    if (needed > this.#bytes.byteLength) {
      const grown = Buffer.allocUnsafe(
        Math.min(this.#limit, Math.max(FIRST_ALLOCATION, needed, this.#bytes.byteLength * 2)),
      );
      this.#bytes.copy(grown, 0, 0, this.#used);
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.#used);
    this.#used = needed;
  }

  /** From here on the second half of what was kept is the oldest part of the end. */
  #startRing(rest: Uint8Array): void {
    const half = Math.floor(this.#limit / 2);
    this.#ring = Buffer.from(this.#bytes.subarray(half, this.#used));
    this.#bytes = Buffer.from(this.#bytes.subarray(0, half));
    this.#used = half;
    this.#intoRing(rest);
  }

  #intoRing(piece: Uint8Array): void {
    const ring = this.#ring!;
    const newest = piece.subarray(Math.max(0, piece.byteLength - ring.byteLength));
    const first = newest.subarray(0, ring.byteLength - this.#ringAt);
    ring.set(first, this.#ringAt);
    ring.set(newest.subarray(first.byteLength), 0);
    this.#ringAt = (this.#ringAt + newest.byteLength) % ring.byteLength;
  }

  #halves(): [Buffer, Buffer] {
    const ring = this.#ring!;
    return [this.#bytes, Buffer.concat([ring.subarray(this.#ringAt), ring.subarray(0, this.#ringAt)])];
  }
}
