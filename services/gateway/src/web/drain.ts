import type { Socket } from 'node:net';
import { setImmediate as nextPoll, setTimeout as sleep } from 'node:timers/promises';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.ts';
import { type StopTimes, stopTimes } from '../stop-times.ts';
import { CONFIG } from '../tokens.ts';

/** How often a gateway that says goodbye looks whether all have gone. */
const LOOK_MS = 20;
/** Each takes about 20 µs, and what the next one is sent meanwhile is lost. */
const CLOSED_AT_ONCE = 8;
/** Part of a request gets this long to become a whole one. */
const PARTIAL_MS = 1_000;

/** Readers that stay for as long as somebody looks, and go on elsewhere by their last number. */
function isStream({ headers }: FastifyRequest): boolean {
  return headers.upgrade !== undefined || (headers.accept ?? '').includes('text/event-stream');
}

/**
 * Lets requests end when the gateway stops. From the first moment every answer closes its connection, and the next one leads to another gateway.
 * A client that holds an idle connection learns of nothing, and what it sends at the moment of the close would be lost: HTTP/1.1 has no goodbye of
 * its own. So everything is served until no client is left, or until those that are left were idle for long.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  /** Streams are not waited for. */
  readonly #requests = new Set<FastifyRequest>();
  /** With the bytes that had come in when the last request was answered: more of them are another request, or a part of one. */
  readonly #connections = new Map<Socket, number>();
  readonly #times: StopTimes;
  readonly #away = new AbortController();
  #end = Number.POSITIVE_INFINITY;
  #ended: () => void = () => {};

  constructor(@Inject(CONFIG) config: Pick<GatewayConfig, 'shutdownSeconds'>) {
    this.#times = stopTimes(config);
  }

  get #stopping(): boolean {
    return this.#end !== Number.POSITIVE_INFINITY;
  }

  /** Fires when readers of streams have to go on at another gateway. */
  get away(): AbortSignal {
    return this.#away.signal;
  }

  register(fastify: FastifyInstance): void {
    fastify.server.on('connection', (socket) => {
      this.#connections.set(socket, 0);
      socket.once('close', () => this.#connections.delete(socket));
    });
    fastify.addHook('onRequest', (request, reply, done) => {
      if (this.#stopping) reply.header('connection', 'close');
      const { socket } = request.raw;
      const stream = isStream(request);
      if (stream) this.#connections.delete(socket);
      else this.#requests.add(request);
      // Also when the client goes away before its answer.
      reply.raw.once('close', () => {
        this.#requests.delete(request);
        if (!socket.destroyed) this.#connections.set(socket, socket.bytesRead);
      });
      done();
    });
    fastify.addHook('onSend', (_request, reply, payload, done) => {
      // Those that were under way when the stop began.
      if (this.#stopping) reply.header('connection', 'close');
      done(null, payload);
    });
  }

  /**
   * Answers close their connections from now on. Resolves when the parts may end their work: at once, or, where there is time to go to another
   * gateway, when the clients have gone. `ended` is called when the last request has its answer.
   */
  async begin(ended: () => void): Promise<void> {
    this.#ended = ended;
    const now = Date.now();
    this.#end = now + this.#times.requestsMs;
    const goodbye = now + this.#times.goodbyeMs;
    while (this.#connections.size > 0 && Date.now() < goodbye) await sleep(LOOK_MS);
    this.#away.abort();
  }

  /** Nest calls it when the parts have ended their work and before the server closes its connections. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.#stopping) await this.#closeIdle();
    this.#ended();
  }

  /** Closes few at a time, each when nothing lies unread in its socket; what comes in meanwhile by the others is answered. */
  async #closeIdle(): Promise<void> {
    let progress = Date.now();
    while ((this.#requests.size > 0 || this.#connections.size > 0) && Date.now() < this.#end) {
      // When it is reached, all that had come in is read.
      await nextPoll();
      const busy = new Set([...this.#requests].map(({ raw }) => raw.socket));
      let closed = 0;
      for (const [socket, bytes] of this.#connections) {
        if (socket.bytesRead !== bytes || busy.has(socket)) continue;
        socket.destroy();
        this.#connections.delete(socket);
        closed += 1;
        if (closed === CLOSED_AT_ONCE) break;
      }
      if (closed > 0 || busy.size > 0) progress = Date.now();
      // The head of a request that does not go on.
      else if (Date.now() - progress > PARTIAL_MS) return;
      if (closed === 0) await sleep(LOOK_MS);
    }
  }
}
