import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Lines to servers that a test can cut and mend: what a client sees of a server that goes away and comes back. */
export class CutLines {
  readonly #lines = new Map<number, { server: Server; port: number }>();
  readonly #sockets = new Set<Socket>();

  /** The same URL over a line of ours; URLs of one server share a line. */
  async through(text: string): Promise<string> {
    const url = new URL(text);
    const target = Number(url.port);
    let line = this.#lines.get(target);
    if (!line) {
      const server = createServer((socket) => this.#join(socket, connect(target, '127.0.0.1')));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      line = { server, port: (server.address() as AddressInfo).port };
      this.#lines.set(target, line);
    }
    url.port = String(line.port);
    return url.href;
  }

  /** Every open connection to that server breaks, new ones are refused. */
  async cut(text: string): Promise<void> {
    const { server } = this.#line(text);
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) if (socket.localPort === this.#line(text).port) socket.destroy();
    await closed;
  }

  async mend(text: string): Promise<void> {
    const { server, port } = this.#line(text);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  }

  #line(text: string) {
    const line = this.#lines.get(Number(new URL(text).port));
    if (!line) throw new Error('no line leads there');
    return line;
  }

  #join(near: Socket, far: Socket): void {
    this.#sockets.add(near);
    near.on('close', () => {
      this.#sockets.delete(near);
      far.destroy();
    });
    far.on('close', () => near.destroy());
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
  }
}
