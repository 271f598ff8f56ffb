import { createHash } from 'node:crypto';
import { contentDiffers } from './object-errors.ts';
import type { PutExpectation } from './object-store.ts';

/** Size and digest of a whole body. */
export interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

/** Counts and hashes a body on its way and holds it to what was announced. Errors: `checksum_mismatch`. */
export class ContentMeter {
  readonly #expected: PutExpectation;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(expected: PutExpectation) {
    this.#expected = expected;
  }

  add(data: Uint8Array): void {
    this.#bytes += data.byteLength;
    const { bytes } = this.#expected;
    if (bytes !== undefined && this.#bytes > bytes) throw contentDiffers(`more than ${bytes} bytes`, this.#expected);
    this.#hash.update(data);
  }

  /** Call once, when the body has ended. */
  finish(): Content {
    const content = { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
    const { bytes, sha256 } = this.#expected;
    if (bytes !== undefined && content.bytes !== bytes) throw contentDiffers(`${content.bytes} bytes`, this.#expected);
    if (sha256 !== undefined && content.sha256 !== sha256.toLowerCase()) {
      throw contentDiffers(`SHA-256 ${content.sha256}`, this.#expected);
    }
    return content;
  }
}

/** A body as its pieces, whatever it is. */
export async function* piecesOf(body: Uint8Array | AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) {
    if (body.byteLength > 0) yield body;
    return;
  }
  for await (const piece of body) yield typeof piece === 'string' ? Buffer.from(piece) : (piece as Uint8Array);
}
