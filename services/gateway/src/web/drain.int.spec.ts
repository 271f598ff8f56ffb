import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { Drain } from './drain.ts';

const REQUEST = 'GET /livez HTTP/1.1\r\nhost: moli\r\n\r\n';

/** A client that keeps its connection. */
interface Client {
  readonly socket: Socket;
  /** Sends a request, written to the socket before it returns; answers status line and headers, or nothing when the connection is closed first. */
  ask(): Promise<string>;
}

let gateway: TestGateway;
let drain: Drain;
afterEach(() => gateway.close());

async function start(shutdownSeconds: number): Promise<void> {
  gateway = await startTestGateway({ MOLI_SHUTDOWN_SECONDS: String(shutdownSeconds) });
  drain = gateway.app.get(Drain);
}

async function client(): Promise<Client> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return {
    socket,
    ask() {
      const answered = new Promise<string>((resolve) => {
        socket.once('data', (text: string) => resolve(text.split('\r\n\r\n')[0] ?? ''));
        socket.once('close', () => resolve(''));
      });
      socket.write(REQUEST);
      return answered;
    },
  };
}

describe('a gateway that stops', () => {
  it('serves clients that hold a connection until they have gone, and closes with each answer', async () => {
    await start(60);
    const [used, idle] = await Promise.all([client(), client()]);
    expect(await Promise.all([used.ask(), idle.ask()])).toEqual([
      expect.stringContaining('Connection: keep-alive'),
      expect.stringContaining('Connection: keep-alive'),
    ]);
    const order: string[] = [];
    const begun = drain.begin(() => {}).then(() => order.push('all have gone'));
    expect(await used.ask()).toMatch(/^HTTP\/1\.1 200[\s\S]*connection: close/);
    order.push('the first has its answer');
    expect(await idle.ask()).toMatch(/^HTTP\/1\.1 200[\s\S]*connection: close/);
    order.push('the second has its answer');
    await begun;
    expect(order).toEqual(['the first has its answer', 'the second has its answer', 'all have gone']);
  });

  it('answers what lies unread in its sockets when it comes to close them, and closes those that are idle', async () => {
    await start(60);
    const clients = await Promise.all(Array.from({ length: 60 }, client));
    await Promise.all(clients.map(({ ask }) => ask()));
    const closed = Promise.all(clients.map(({ socket }) => once(socket, 'close')));
    // Not waited for: they would have been sent away.
    void drain.begin(() => {});
    const asked = clients.slice(20, 40).map(({ ask }) => ask());
    await drain.beforeApplicationShutdown();
    for (const answer of await Promise.all(asked)) expect(answer).toMatch(/^HTTP\/1\.1 200/);
    await closed;
  });

  it('ends streams in order, so that their readers come back elsewhere', async () => {
    await start(5);
    const key = gateway.first.key ?? '';
    const { id } = (await gateway.ask('/v1/sessions', { key, body: {} })).json;
    const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
    const stream = await fetch(`${gateway.url}/v1/sessions/${id}/events`, { headers });
    await drain.begin(() => {});
    // Rejects when the connection is cut.
    expect(await stream.text()).toContain('retry: 1000');
    await drain.beforeApplicationShutdown();
  });
});
