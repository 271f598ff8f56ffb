import type { OnReadOpts, Socket } from 'node:net';

const BUFFER_BYTES = 64 * 1024;

/**
 * Reads a socket into one buffer that is used again and again: a flood of output then makes no garbage of its own size. A chunk is good until the
 * next one is asked for, and while nobody asks, nothing is read.
 */
export class ChunkReader {
  readonly onread: OnReadOpts;
  #socket: Socket | null = null;
  #chunk: Buffer | null = null;
  #ended = false;
  #failure: Error | null = null;
  #arrived: () => void = () => {};

  constructor() {
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.onread = {
      buffer,
      callback: (bytes) => {
        this.#chunk = buffer.subarray(0, bytes);
        this.#arrived();
        // Reading pauses until the chunk has been used.
        return false;
      },
    };
  }

  attach(socket: Socket): void {
    this.#socket = socket;
    const end = (): void => {
      this.#ended = true;
      this.#arrived();
    };
    socket.on('end', end);
    socket.on('close', end);
    socket.on('error', (error) => {
      this.#failure = error;
      end();
    });
  }

  /** The next bytes, or null at the end. Throws the socket's error. */
  async next(): Promise<Buffer | null> {
    while (!this.#chunk && !this.#ended) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#arrived = resolve;
      this.#socket?.resume();
      await promise;
    }
    const chunk = this.#chunk;
    this.#chunk = null;
    if (!chunk && this.#failure) throw this.#failure;
    return chunk;
  }
}
