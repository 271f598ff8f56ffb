import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What happens to a request instead of plain forwarding. */
export type Fault =
  /** Answered by the proxy; the server never hears of it. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    }
  /** Nothing is ever answered; the server never hears of it. */
  | { readonly kind: 'silence' }
  /** The server does what was asked, but its answer is lost. */
  | { readonly kind: 'lost-answer' }
  /** The connection breaks after so many bytes of the answer's body. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** One byte in the middle of the request's or the answer's body is another. */
  | { readonly kind: 'alter'; readonly what: 'request' | 'answer' };

export interface SeenRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

export interface FaultProxy {
  readonly url: string;
  /** Every request so far. */
  readonly seen: SeenRequest[];
  /** The next `times` requests that match meet this fault. Faults are looked through in the order of their making. */
  fault(match: (request: SeenRequest) => boolean, fault: Fault, times?: number): void;
  /** Forgets requests and faults. */
  clear(): void;
  close(): Promise<void>;
}

interface Armed {
  readonly match: (request: SeenRequest) => boolean;
  readonly fault: Fault;
  left: number;
}

/** An HTTP proxy on loopback before a real server. With `tls` it speaks TLS to its clients. The Host header passes, so signatures stay right. */
export async function startFaultProxy(target: string, tls?: { key: string; cert: string }): Promise<FaultProxy> {
  const seen: SeenRequest[] = [];
  const armed: Armed[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers };
    seen.push(one);
    const found = armed.find(({ match, left }) => left > 0 && match(one));
    if (found) found.left -= 1;
    forward(target, request, response, found?.fault).catch(() => response.destroy());
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    fault: (match, fault, times = 1) => void armed.push({ match, fault, left: times }),
    clear: () => {
      seen.length = 0;
      armed.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function forward(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  fault: Fault | undefined,
): Promise<void> {
  const body = await buffer(request);
  if (fault?.kind === 'silence') return;
  if (fault?.kind === 'answer') {
    response.writeHead(fault.status, { 'content-type': 'application/xml', ...fault.headers }).end(fault.body ?? '');
    return;
  }
  if (fault?.kind === 'alter' && fault.what === 'request') flip(body);
  const { answer, content } = await ask(target, request, body);
  if (fault?.kind === 'lost-answer') {
    response.destroy();
    return;
  }
  if (fault?.kind === 'alter' && fault.what === 'answer') flip(content);
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  if (fault?.kind !== 'cut') {
    response.end(content);
    return;
  }
  response.write(content.subarray(0, fault.afterBytes), () => response.destroy());
}

function ask(
  target: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): Promise<{ answer: IncomingMessage; content: Buffer }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL(url ?? '/', target), { method, headers, agent: false }, (answer) => {
      buffer(answer).then((content) => resolve({ answer, content }), reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}

function flip(data: Buffer): void {
  if (data.length > 0) data[data.length >> 1]! ^= 1;
}
