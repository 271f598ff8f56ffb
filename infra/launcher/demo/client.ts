import { setTimeout as sleep } from 'node:timers/promises';
import { Upload } from 'tus-js-client';

/** An event of a session as its stream delivers it. */
export interface SessionEvent {
  readonly seq: number;
  readonly type: string;
  readonly turnId?: string;
  readonly messageId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** As its streams ask for (`retry:`). */
const RETRY_MS = 1_000;

/** The public API, as a program with a key calls it. */
export class ApiClient {
  readonly origin: string;
  readonly #key: string;

  constructor(origin: string, key: string) {
    this.origin = origin;
    this.#key = key;
  }

  /** One request with our credentials; the answer as it is, whatever its status. */
  request(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.origin}${path}`, { ...init, headers: { ...this.#headers(), ...(init.headers as object) } });
  }

  /** Sends JSON and reads JSON; throws with the problem's own words. An empty answer is undefined. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const json =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await this.request(path, { method, ...json });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} → ${response.status} ${text.slice(0, 500)}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async bytes(path: string): Promise<Buffer> {
    const response = await this.request(path);
    if (!response.ok) throw new Error(`GET ${path} → ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  }

  /** Resumable upload by tus, as the workbench does it; answers the id of the file. */
  upload(content: Buffer, filename: string, sessionId: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let fileId: string | undefined;
      const upload = new Upload(content, {
        endpoint: `${this.origin}/api/upload`,
        headers: this.#headers(),
        metadata: { filename, sessionId },
        chunkSize: 5 * 1024 * 1024,
        retryDelays: [200, 1_000],
        onAfterResponse: (_request, response) => {
          fileId = response.getHeader('Moli-File-Id') ?? fileId;
        },
        onError: reject,
        onSuccess: () => (fileId ? resolve(fileId) : reject(new Error('the upload ended without Moli-File-Id'))),
      });
      upload.start();
    });
  }

  /**
   * Follows a session's events after `after` until `signal` aborts, which throws its reason. A stream that ends or breaks is opened again where it
   * was, at another gateway when its own leaves. Throws when it can't be opened.
   */
  async *events(sessionId: string, signal: AbortSignal, after = 0): AsyncGenerator<SessionEvent> {
    let last = after;
    for (;;) {
      const response = await this.request(`/v1/sessions/${sessionId}/events?after=${last}`, {
        headers: { accept: 'text/event-stream' },
        signal,
      });
      if (!response.ok || !response.body) throw new Error(`events → ${response.status} ${await response.text()}`);
      try {
        for await (const event of parseEvents(response.body)) {
          last = event.seq;
          yield event;
        }
      } catch (error) {
        if (!isBroken(error)) throw error;
      }
      await sleep(RETRY_MS, undefined, { signal });
    }
  }

  #headers(): Record<string, string> {
    return {
      authorization: `Bearer ${this.#key}`,
      'accept-language': process.env.LANG?.startsWith('zh') ? 'zh' : 'en',
    };
  }
}

async function* parseEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<SessionEvent> {
  let buffer = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    buffer += text;
    const blocks = buffer.split('\n\n');
    buffer = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trim())
        .join('\n');
      if (data) yield JSON.parse(data) as SessionEvent;
    }
  }
}

/** What fetch throws when the connection is lost in the middle of an answer. */
const isBroken = (error: unknown): boolean => error instanceof TypeError && error.message === 'terminated';
