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
 * Cuts a byte stream into frames wherever its chunks end. Holds at most one incomplete frame. Payloads are views of the chunks: copy what is
 * kept.
 */
export class FrameDecoder {
  #parts: Buffer[] = [];
  #held = 0;

  /** Frames that this chunk completes, in order. Throws FrameError for a length that no frame has. */
  *push(chunk: Buffer): Generator<Frame> {
    this.#parts.push(chunk);
    this.#held += chunk.byteLength;
    if (this.#held < this.#wanted()) return;
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#held);
    let at = 0;
    while (bytes.byteLength - at >= 4) {
      const length = bytes.readUInt32LE(at);
      if (length < 1 || length > MAX_FRAME_BYTES) throw new FrameError(`a frame of ${length} bytes`);
      if (bytes.byteLength - at < 4 + length) break;
      yield { type: String.fromCharCode(bytes[at + 4]!), payload: bytes.subarray(at + 5, at + 4 + length) };
      at += 4 + length;
    }
    this.#parts = at < bytes.byteLength ? [bytes.subarray(at)] : [];
    this.#held = bytes.byteLength - at;
  }

  /** Whether the stream may end here. */
  get empty(): boolean {
    return this.#held === 0;
  }

  /** Bytes from the start of the held frame until something can be decoded; avoids joining parts for every chunk of a long frame. */
  #wanted(): number {
    const first = this.#parts[0]!;
    if (first.byteLength < 4) return 5;
    const length = first.readUInt32LE(0);
    return length > MAX_FRAME_BYTES ? 4 : 4 + length;
  }
}
