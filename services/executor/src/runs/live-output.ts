import type { RunStreamEntry } from '@moli/queue';
import { metrics } from '../metrics.ts';
import { LosslessDecoder } from './lossless-text.ts';

export type OutputStream = 'stdout' | 'stderr';

/** The first entries after a pause wait this long for company: a short run then reports everything in one step. */
const FIRST_WAIT_MS = 3;
/** Afterwards entries are joined for this long, so that a program that writes byte by byte does not make an entry of each. */
const COALESCE_MS = 12;
/** Text of one entry, in UTF-16 units; what is larger goes out at once. */
const PIECE_LENGTH = 32 * 1024;
/** Sent and not yet confirmed; beyond it the sandbox waits. Little, so that text dies young and a flood leaves no old garbage. */
const IN_FLIGHT_LENGTH = 32 * 1024;

/** What a run does on its way to its stream: in order, output joined to pieces, in bounded memory. */
export class LiveOutput {
  readonly #append: (entries: RunStreamEntry[]) => Promise<void>;
  readonly #decoders = { stdout: new LosslessDecoder(), stderr: new LosslessDecoder() };
  #pending: RunStreamEntry[] = [];
  #pendingLength = 0;
  #inFlight = 0;
  #timer: NodeJS.Timeout | null = null;
  #sentAt = Number.NEGATIVE_INFINITY;
  #chain: Promise<void> = Promise.resolve();

  /** `append` is called with entries in order; its failure comes out of the next `push` or `flush`. */
  constructor(append: (entries: RunStreamEntry[]) => Promise<void>) {
    this.#append = append;
  }

  /** The bytes are read before this returns. The promise, if any, says when to go on. */
  push(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
    metrics.outputBytes.inc({ stream }, bytes.byteLength);
    this.#text(stream, this.#decoders[stream].push(bytes));
    return this.#inFlight > IN_FLIGHT_LENGTH ? this.#chain : undefined;
  }

  /** Anything else, after what was printed before it. */
  add(entry: RunStreamEntry): void {
    this.#pending.push(entry);
    this.#schedule();
  }

  /** Everything so far is in the stream when this settles. */
  async flush(): Promise<void> {
    this.#send();
    await this.#chain;
  }

  /** Ends the output: what is not yet in the stream, with the bytes of cut characters, for the caller to send. */
  async rest(): Promise<RunStreamEntry[]> {
    for (const stream of ['stdout', 'stderr'] as const) this.#text(stream, this.#decoders[stream].end());
    this.#stopTimer();
    const rest = this.#pending;
    this.#pending = [];
    this.#pendingLength = 0;
    await this.#chain;
    return rest;
  }

  /** Whether every byte of the stream was text. */
  exact(stream: OutputStream): boolean {
    return this.#decoders[stream].exact;
  }

  #text(stream: OutputStream, text: string): void {
    if (text === '') return;
    const last = this.#pending.at(-1);
    if (last?.type === 'output' && last.stream === stream && last.text.length < PIECE_LENGTH) last.text += text;
    else this.#pending.push({ type: 'output', stream, text });
    this.#pendingLength += text.length;
    if (this.#pendingLength >= PIECE_LENGTH) this.#send();
    else this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(
      () => this.#send(),
      Math.max(FIRST_WAIT_MS, this.#sentAt + COALESCE_MS - performance.now()),
    );
  }

  #send(): void {
    this.#stopTimer();
    if (this.#pending.length === 0) return;
    const length = this.#pendingLength;
    const sent = this.#append(this.#pending).finally(() => {
      this.#inFlight -= length;
    });
    this.#inFlight += length;
    this.#pending = [];
    this.#pendingLength = 0;
    this.#sentAt = performance.now();
    this.#chain = Promise.all([this.#chain, sent]).then(() => undefined);
    // A failure is kept in the chain and thrown to whoever waits for it.
    this.#chain.catch(() => {});
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
