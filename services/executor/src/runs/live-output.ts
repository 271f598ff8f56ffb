import { metrics } from '../metrics.ts';
import { LosslessDecoder } from './lossless-text.ts';

export type OutputStream = 'stdout' | 'stderr';

/** Live pieces are joined for this long, so that a program that writes byte by byte does not make an entry of each. */
const COALESCE_MS = 12;
/** At this size a piece goes out at once. */
const PIECE_BYTES = 32 * 1024;
/** Sent and not yet confirmed; beyond it the sandbox waits. */
const IN_FLIGHT_BYTES = 256 * 1024;

/**
 * Live output on its way to the run's stream: coalesced, as text, in the order it was written, in bounded memory.
 * The first piece after a pause goes out at once.
 */
export class LiveOutput {
  readonly #send: (stream: OutputStream, text: string) => Promise<void>;
  readonly #decoders = { stdout: new LosslessDecoder(), stderr: new LosslessDecoder() };
  readonly #pending = Buffer.allocUnsafe(PIECE_BYTES);
  #stream: OutputStream = 'stdout';
  #used = 0;
  #timer: NodeJS.Timeout | null = null;
  #sentAt = Number.NEGATIVE_INFINITY;
  #inFlight = 0;
  #chain: Promise<void> = Promise.resolve();

  /** `send` is called with pieces in order; its failure comes out of the next `push` or `flush`. */
  constructor(send: (stream: OutputStream, text: string) => Promise<void>) {
    this.#send = send;
  }

  /** Takes a copy of the bytes. The promise, if any, says when to go on. */
  push(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
    metrics.outputBytes.inc({ stream }, bytes.byteLength);
    if (stream !== this.#stream) {
      this.#dispatch();
      this.#stream = stream;
    }
    for (let rest = bytes; rest.byteLength > 0; ) {
      const part = rest.subarray(0, PIECE_BYTES - this.#used);
      this.#pending.set(part, this.#used);
      this.#used += part.byteLength;
      rest = rest.subarray(part.byteLength);
      if (this.#used === PIECE_BYTES) this.#dispatch();
    }
    this.#schedule();
    return this.#inFlight > IN_FLIGHT_BYTES ? this.#chain : undefined;
  }

  /** Everything so far is in the stream when this settles; `last` also gives out cut characters. */
  async flush(last = false): Promise<void> {
    this.#dispatch();
    if (last) {
      for (const stream of ['stdout', 'stderr'] as const) this.#enqueue(stream, this.#decoders[stream].end());
    }
    await this.#chain;
  }

  /** Whether every byte of the stream was text. */
  exact(stream: OutputStream): boolean {
    return this.#decoders[stream].exact;
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #schedule(): void {
    if (this.#used === 0 || this.#timer) return;
    const wait = this.#sentAt + COALESCE_MS - performance.now();
    if (wait <= 0) this.#dispatch();
    else this.#timer = setTimeout(() => this.#dispatch(), wait);
  }

  #dispatch(): void {
    this.close();
    if (this.#used === 0) return;
    const text = this.#decoders[this.#stream].push(this.#pending.subarray(0, this.#used));
    this.#used = 0;
    this.#sentAt = performance.now();
    this.#enqueue(this.#stream, text);
  }

  #enqueue(stream: OutputStream, text: string): void {
    if (text === '') return;
    this.#inFlight += text.length;
    const sent = this.#send(stream, text).finally(() => {
      this.#inFlight -= text.length;
    });
    this.#chain = Promise.all([this.#chain, sent]).then(() => undefined);
    // A failure is kept in the chain and thrown to whoever waits for it.
    this.#chain.catch(() => {});
  }
}
