import type { FastifyReply } from 'fastify';

/** Proxies cut connections that are silent for 60 s. */
const COMMENT_MS = 15_000;
/** A reader that takes nothing for this long is dropped; it comes back with `Last-Event-ID`. */
const STALLED_MS = 30_000;
/** A stream ends after this long; its reader comes back with `Last-Event-ID` and shows its credentials again, which may have been revoked. */
const MAX_STREAM_MS = 15 * 60_000;

/** An answer of server-sent events. Its head is sent at once; hijacked replies skip Fastify's own sending. */
export class SseStream {
  readonly #raw: FastifyReply['raw'];
  readonly #over = new AbortController();
  readonly #away: AbortSignal;
  readonly #stop = (): void => this.#over.abort();
  readonly #lifetime = setTimeout(this.#stop, MAX_STREAM_MS);
  readonly #comments = setInterval(() => this.#raw.write(': still here\n\n'), COMMENT_MS);

  /** `away` fires when readers have to go on at another gateway. */
  constructor(reply: FastifyReply, away: AbortSignal) {
    this.#raw = reply.raw;
    this.#away = away;
    this.#raw.on('close', this.#stop);
    if (away.aborted) this.#stop();
    else away.addEventListener('abort', this.#stop);
    reply.hijack();
    this.#raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#raw.write('retry: 1000\n\n');
  }

  /** Fires when the reader has left, or has to come back. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when the connection has taken it, or when the stream is over. A slow reader costs no memory if the next text is made only then. */
  async send(text: string): Promise<void> {
    if (this.#over.signal.aborted || this.#raw.write(text)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const taken = (): void => resolve();
    const timer = setTimeout(() => this.#raw.destroy(), STALLED_MS);
    this.#raw.once('drain', taken);
    this.#over.signal.addEventListener('abort', taken);
    await promise;
    clearTimeout(timer);
    this.#raw.off('drain', taken);
    this.#over.signal.removeEventListener('abort', taken);
  }

  /** To be called in any case. */
  end(): void {
    clearInterval(this.#comments);
    clearTimeout(this.#lifetime);
    this.#away.removeEventListener('abort', this.#stop);
    this.#raw.end();
  }
}
