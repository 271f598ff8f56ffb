import { isUtf8 } from 'node:buffer';

/** Expected length of a UTF-8 sequence by its first byte; 0 for a byte that starts none. */
function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

/** Bytes at the end that may be the start of a character whose rest is still to come; at most 3. */
function incompleteTail(bytes: Uint8Array): number {
  const from = Math.max(0, bytes.byteLength - 3);
  for (let at = bytes.byteLength - 1; at >= from; at--) {
    const byte = bytes[at]!;
    if ((byte & 0xc0) === 0x80) continue;
    return sequenceLength(byte) > bytes.byteLength - at ? bytes.byteLength - at : 0;
  }
  return 0;
}

/** Valid UTF-8 as text; every byte that is not part of it as `\xNN`, so that nothing is lost from sight. */
export function escapeInvalid(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  let valid = 0;
  for (let at = 0; at < bytes.byteLength; ) {
    const length = sequenceLength(bytes[at]!);
    if (length > 0 && at + length <= bytes.byteLength && isUtf8(bytes.subarray(at, at + length))) {
      at += length;
      continue;
    }
    text += `${bytes.toString('utf8', valid, at)}\\x${bytes[at]!.toString(16).padStart(2, '0')}`;
    valid = ++at;
  }
  return text + bytes.toString('utf8', valid);
}

/** Turns a byte stream into text piece by piece; characters cut by a piece's end are joined. */
export class LosslessDecoder {
  #tail: Buffer = Buffer.alloc(0);
  #exact = true;

  /** False once a byte had to be escaped, or while one waits for the rest of its character. */
  get exact(): boolean {
    return this.#exact && this.#tail.byteLength === 0;
  }

  push(piece: Uint8Array): string {
    const bytes = this.#tail.byteLength > 0 ? Buffer.concat([this.#tail, piece]) : asBuffer(piece);
    const held = incompleteTail(bytes);
    this.#tail = held > 0 ? Buffer.from(bytes.subarray(bytes.byteLength - held)) : Buffer.alloc(0);
    return this.#decode(bytes.subarray(0, bytes.byteLength - held));
  }

  /** What was waiting for a rest that never came. */
  end(): string {
    const rest = this.#tail;
    this.#tail = Buffer.alloc(0);
    return this.#decode(rest);
  }

  #decode(bytes: Buffer): string {
    if (this.#exact && !isUtf8(bytes)) this.#exact = false;
    return escapeInvalid(bytes);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
