/** Frames between a runner and the zygote: see `sandbox/PROTOCOL.md`. */

/** Of type and payload together. */
export const MAX_FRAME_BYTES = 1024 * 1024 + 1;

export interface Frame {
  /** One ASCII letter. */
  readonly type: string;
  readonly payload: Buffer;
}

export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** The bytes of one frame. Longer payloads must be cut by the caller (`pieces`). */
export function encodeFrame(type: string, payload: Uint8Array | string = ''): Buffer {
  const size = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
  if (size + 1 > MAX_FRAME_BYTES) throw new FrameError(`frame ${type} of ${size} bytes is too long`);
  const frame = Buffer.allocUnsafe(5 + size);
  frame.writeUInt32LE(size + 1, 0);
  frame.write(type, 4, 'latin1');
  if (typeof payload === 'string') frame.write(payload, 5);
  else frame.set(payload, 5);
  return frame;
}

/** A long content as payloads that fit into frames. */
export function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  const most = MAX_FRAME_BYTES - 1;
  for (let at = 0; at < bytes.byteLength; at += most) yield bytes.subarray(at, at + most);
}

/**
 * Cuts a byte stream into frames wherever its chunks end. Holds a copy of at most one incomplete frame. Payloads are views of the chunk or of
 * that copy: take from them what is needed before the next chunk is read.
 */
export class FrameDecoder {
  #parts: Buffer[] = [];
  #held = 0;

  /** Frames that this chunk completes, in order. Throws FrameError for a length that no frame has. */
  *push(chunk: Buffer): Generator<Frame> {
    let bytes = chunk;
    if (this.#held > 0) {
      this.#hold(chunk);
      if (this.#held < this.#wanted()) return;
      bytes = Buffer.concat(this.#parts, this.#held);
      this.#parts = [];
    }
    let at = 0;
    while (bytes.byteLength - at >= 4) {
      const length = bytes.readUInt32LE(at);
      if (length < 1 || length > MAX_FRAME_BYTES) throw new FrameError(`a frame of ${length} bytes`);
      if (bytes.byteLength - at < 4 + length) break;
      yield { type: String.fromCharCode(bytes[at + 4]!), payload: bytes.subarray(at + 5, at + 4 + length) };
      at += 4 + length;
    }
    this.#held = 0;
    if (at < bytes.byteLength) this.#hold(bytes.subarray(at));
  }

  /** Whether the stream may end here. */
  get empty(): boolean {
    return this.#held === 0;
  }

  #hold(part: Buffer): void {
    this.#parts.push(Buffer.from(part));
    this.#held += part.byteLength;
  }

  /** Bytes from the start of the held frame until something can be decoded; avoids joining parts for every chunk of a long frame. */
  #wanted(): number {
    const first = this.#parts[0]!;
    if (first.byteLength < 4) return 5;
    const length = first.readUInt32LE(0);
    return length > MAX_FRAME_BYTES ? 4 : 4 + length;
  }
}
