import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import type { ContentLink } from '../runner.ts';

/** An object store that is silent for this long counts as gone. */
const SILENCE_MS = 15_000;
const CONNECTIONS = 32;
/** The link was used: by an attempt whose answer was lost, or by somebody else. Reading back tells. */
const ALREADY_THERE = 412;

/** A request to the object store that failed. A link is a secret, and drivers put it into their errors: only name and code are kept. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
  static of(what: string, error: unknown): LinkError {
    if (error instanceof LinkError) return error;
    const { name, code } = error instanceof Error ? (error as { name: string; code?: string }) : { name: 'unknown' };
    return new LinkError(`${what}: ${[name, code].filter(Boolean).join(' ')}`);
  }
}

/** Reads and writes objects through signed links. */
export class LinkClient {
  readonly #dispatcher: Dispatcher;
  #closed: Promise<void> | null = null;

  /** `ca`: certificates (PEM) to trust instead of the system's. */
  constructor({ ca }: { ca?: string } = {}) {
    this.#dispatcher = new Agent({
      connections: CONNECTIONS,
      keepAliveTimeout: 30_000,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
      ...(ca ? { connect: { ca } } : {}),
    });
  }

  /** The bytes behind a link. Throws LinkError. */
  async *read(url: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      const answer = await request(url, { dispatcher: this.#dispatcher, ...(signal ? { signal } : {}) });
      if (answer.statusCode !== 200) {
        await answer.body.dump();
        throw new LinkError(`reading was answered with ${answer.statusCode}`);
      }
      for await (const chunk of answer.body) yield chunk as Uint8Array;
    } catch (error) {
      throw LinkError.of('reading failed', error);
    }
  }

  /** Writes a content, reads it back and compares. Throws LinkError. */
  async store(link: ContentLink, content: { bytes: number; sha256: string; read(): Buffer | Readable }): Promise<void> {
    await this.#write(link, content);
    const hash = createHash('sha256');
    for await (const chunk of this.read(link.getUrl)) hash.update(chunk);
    if (hash.digest('hex') !== content.sha256) throw new LinkError('what was read back differs');
  }

  /** Waits for requests that are on their way. */
  close(): Promise<void> {
    this.#closed ??= this.#dispatcher.close();
    return this.#closed;
  }

  async #write(link: ContentLink, content: { bytes: number; read(): Buffer | Readable }): Promise<void> {
    let status: number;
    try {
      const answer = await request(link.putUrl, {
        method: 'PUT',
        dispatcher: this.#dispatcher,
        headers: { ...link.putHeaders, 'content-length': String(content.bytes) },
        body: content.read(),
      });
      await answer.body.dump();
      status = answer.statusCode;
    } catch (error) {
      throw LinkError.of('storing failed', error);
    }
    if (status >= 300 && status !== ALREADY_THERE) throw new LinkError(`storing was answered with ${status}`);
  }
}
