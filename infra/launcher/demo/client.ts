import { Upload } from 'tus-js-client';

/** An event of a session as its stream delivers it. */
export interface DemoEvent {
  readonly seq: number;
  readonly type: string;
  readonly turnId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The public API, as far as the main scene needs it; a caller like any other program, with a key. */
export class ApiClient {
  readonly #origin: string;
  readonly #key: string;

  constructor(origin: string, key: string) {
    this.#origin = origin;
    this.#key = key;
  }

  /** Sends JSON and reads JSON; throws with the problem's own words. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.#origin}${path}`, {
      method,
      headers: { ...this.#headers(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} → ${response.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  }

  async bytes(path: string): Promise<Buffer> {
    const response = await fetch(`${this.#origin}${path}`, { headers: this.#headers() });
    if (!response.ok) throw new Error(`GET ${path} → ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  }

  /** Resumable upload by tus, as the workbench does it; answers the id of the file. */
  upload(content: Buffer, filename: string, sessionId: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let fileId: string | undefined;
      const upload = new Upload(content, {
        endpoint: `${this.#origin}/api/upload`,
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

  /** Follows a session's events from the beginning until `signal` aborts. */
  async *events(sessionId: string, signal: AbortSignal): AsyncGenerator<DemoEvent> {
    const response = await fetch(`${this.#origin}/v1/sessions/${sessionId}/events?after=0`, {
      headers: { ...this.#headers(), accept: 'text/event-stream' },
      signal,
    });
    if (!response.ok || !response.body) throw new Error(`events → ${response.status} ${await response.text()}`);
    let buffer = '';
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      buffer += text;
      const blocks = buffer.split('\n\n');
      buffer = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block
          .split('\n')
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trim())
          .join('\n');
        if (data) yield JSON.parse(data) as DemoEvent;
      }
    }
  }

  #headers(): Record<string, string> {
    return {
      authorization: `Bearer ${this.#key}`,
      'accept-language': process.env.LANG?.startsWith('zh') ? 'zh' : 'en',
    };
  }
}
