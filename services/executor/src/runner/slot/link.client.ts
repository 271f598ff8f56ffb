import { createHash } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { Readable } from 'node:stream';
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

interface Sent {
  readonly method: 'GET' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: () => Buffer | Readable;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads and writes objects through signed links. On Node's own client, not on undici, which takes 10 MB of memory more: every warm sandbox
 * Pod has one of these.
 */
export class LinkClient {
  readonly #plain = new PlainAgent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #secure: SecureAgent;

  /** `ca`: certificates (PEM) to trust instead of the system's. */
  constructor({ ca }: { ca?: string } = {}) {
    this.#secure = new SecureAgent({ keepAlive: true, maxSockets: CONNECTIONS, ...(ca ? { ca } : {}) });
  }

  /** The bytes behind a link. Throws LinkError. */
  async *read(url: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      const answer = await this.#request(url, { method: 'GET', signal });
      if (answer.statusCode !== 200) {
        answer.resume();
        throw new LinkError(`reading was answered with ${answer.statusCode}`);
      }
      for await (const chunk of answer) yield chunk as Uint8Array;
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

  /** How a request without a link is answered. Throws LinkError. */
  async status(url: string): Promise<number> {
    try {
      const answer = await this.#request(url, { method: 'GET' });
      answer.destroy();
      return answer.statusCode ?? 0;
    } catch (error) {
      throw LinkError.of('asking failed', error);
    }
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  async #write(link: ContentLink, content: { bytes: number; read(): Buffer | Readable }): Promise<void> {
    let status: number | undefined;
    try {
      const headers = { ...link.putHeaders, 'content-length': String(content.bytes) };
      const answer = await this.#request(link.putUrl, { method: 'PUT', headers, body: () => content.read() });
      answer.resume();
      status = answer.statusCode;
    } catch (error) {
      throw LinkError.of('storing failed', error);
    }
    if (status !== ALREADY_THERE && !(status !== undefined && status < 300))
      throw new LinkError(`storing was answered with ${status}`);
  }

  /** The answer's head. A kept connection that the server had closed meanwhile is not a failure: the request goes out once more. */
  async #request(url: string, sent: Sent): Promise<IncomingMessage> {
    for (;;) {
      const request = this.#open(url, sent);
      try {
        return await answerTo(request, sent.body?.());
      } catch (error) {
        if (!request.reusedSocket || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      }
    }
  }

  #open(url: string, { method, headers = {}, signal }: Sent): ClientRequest {
    const options = { method, headers, timeout: SILENCE_MS, ...(signal ? { signal } : {}) };
    return url.startsWith('https:')
      ? secureRequest(url, { ...options, agent: this.#secure })
      : plainRequest(url, { ...options, agent: this.#plain });
  }
}

function answerTo(request: ClientRequest, body: Buffer | Readable | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on('error', reject);
  request.on('timeout', () => request.destroy(Object.assign(new Error('silence'), { code: 'ETIMEDOUT' })));
  request.on('response', (answer) => {
    // Refused before all was sent: the rest is of no use, and neither is the connection.
    if (!request.writableFinished) answer.on('close', () => request.destroy());
    resolve(answer);
  });
  if (body instanceof Readable) {
    body.on('error', (error) => request.destroy(error));
    request.on('close', () => body.destroy());
    body.pipe(request);
  } else request.end(body);
  return promise;
}
