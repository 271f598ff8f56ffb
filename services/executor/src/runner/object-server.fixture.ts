import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ContentLink, RunInput } from './runner.ts';

const digest = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** An object store with nothing but signed links: unguessable paths, each PUT good for one use. Asked without a link it refuses. */
export class ObjectServer implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #host: string;
  readonly #objects = new Map<string, Buffer>();
  readonly #open = new Set<string>();
  /** What a store does to bytes that it loses. */
  #alter: (content: Buffer) => Buffer = (content) => content;

  private constructor(host: string) {
    this.#host = host;
  }

  /** `host`: an address of this machine that the runner's sandboxes' helpers reach. */
  static async start(host = '127.0.0.1'): Promise<ObjectServer> {
    const server = new ObjectServer(host);
    await new Promise<void>((resolve) => server.#server.listen(0, host, resolve));
    return server;
  }

  get url(): string {
    return `http://${this.#host}:${(this.#server.address() as AddressInfo).port}`;
  }

  input(name: string, content: Buffer | string, more: Partial<RunInput> = {}): RunInput {
    const bytes = Buffer.from(content);
    const path = `/${randomBytes(16).toString('hex')}`;
    this.#objects.set(path, bytes);
    return { name, bytes: bytes.byteLength, sha256: digest(bytes), url: `${this.url}${path}`, ...more };
  }

  link(): ContentLink {
    const path = `/${randomBytes(16).toString('hex')}`;
    this.#open.add(path);
    return { putUrl: `${this.url}${path}`, putHeaders: { 'x-signed': path }, getUrl: `${this.url}${path}` };
  }

  stored(link: ContentLink): Buffer | undefined {
    return this.#objects.get(new URL(link.getUrl).pathname);
  }

  alterUploads(alter: (content: Buffer) => Buffer): void {
    this.#alter = alter;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    const answer = (status: number, body: Buffer | string = ''): void => {
      response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body);
    };
    if (request.method === 'PUT') {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      if (request.headers['x-signed'] !== path) return answer(403);
      if (!this.#open.delete(path)) return answer(412);
      this.#objects.set(path, this.#alter(Buffer.concat(parts)));
      return answer(200);
    }
    const content = this.#objects.get(path);
    if (!content) return answer(403);
    answer(200, content);
  }
}
