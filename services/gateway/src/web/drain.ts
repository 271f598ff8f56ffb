import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.ts';
import { CONFIG } from '../tokens.ts';

/** Kept back from the time to stop: closing pools and queues, milliseconds. */
const CLOSING_MS = 1_000;

/** Readers that stay for as long as somebody looks, and go on elsewhere by their last number. */
function isStream({ headers }: FastifyRequest): boolean {
  return headers.upgrade !== undefined || (headers.accept ?? '').includes('text/event-stream');
}

/**
 * Lets requests end when the gateway stops. From the first moment every answer asks its client to open another connection, which leads to another
 * gateway; the server closes when the last request has its answer. Streams are not waited for.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  readonly #open = new Set<FastifyRequest>();
  #end = Number.POSITIVE_INFINITY;
  #changed: () => void = () => {};
  #ended: () => void = () => {};

  constructor(@Inject(CONFIG) private readonly config: Pick<GatewayConfig, 'shutdownSeconds'>) {}

  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      if (this.#end !== Number.POSITIVE_INFINITY) reply.header('connection', 'close');
      if (!isStream(request)) {
        this.#open.add(request);
        // Also when the client goes away before its answer.
        reply.raw.once('close', () => {
          this.#open.delete(request);
          this.#changed();
        });
      }
      done();
    });
    fastify.addHook('onSend', (_request, reply, payload, done) => {
      // Those that were under way when the stop began.
      if (this.#end !== Number.POSITIVE_INFINITY) reply.header('connection', 'close');
      done(null, payload);
    });
  }

  /** Answers say goodbye from now on; `ended` is called when the last request has its answer. */
  begin(ended: () => void): void {
    this.#ended = ended;
    this.#end = Date.now() + this.config.shutdownSeconds * 1000 - CLOSING_MS;
  }

  /** Nest calls it when the parts have ended their work and before the server closes its connections. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.#open.size > 0 && this.#end !== Number.POSITIVE_INFINITY) await this.#answered();
    this.#ended();
  }

  async #answered(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, this.#end - Date.now()));
      this.#changed = () => {
        if (this.#open.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
