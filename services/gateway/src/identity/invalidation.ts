import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { REDIS } from '../tokens.ts';

const CHANNEL = 'moli:identity';

/** What became untrue: a key by the hex of its hash, or everything cached of a person. */
const Message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('key'), hash: z.string() }),
  z.object({ kind: z.literal('user'), id: z.string() }),
]);
export type Invalidation = z.infer<typeof Message>;

/** Tells every gateway that a key was revoked or a person's rights changed. If a message is lost, caches forget within seconds anyway. */
@Injectable()
export class Invalidations implements OnModuleInit, OnModuleDestroy {
  readonly #listeners: ((message: Invalidation) => void)[] = [];
  #subscriber: Redis | undefined;

  constructor(@Inject(REDIS) private readonly redis: Redis) {}

  async onModuleInit(): Promise<void> {
    this.#subscriber = this.redis.duplicate({
      lazyConnect: true,
      maxRetriesPerRequest: null,
      connectionName: 'moli-gateway-identity',
    });
    this.#subscriber.on('error', (error) => log.debug('the identity subscription broke', { error }));
    this.#subscriber.on('message', (_channel: string, text: string) => this.#receive(text));
    await this.#subscriber.connect();
    await this.#subscriber.subscribe(CHANNEL);
  }

  onModuleDestroy(): void {
    this.#subscriber?.disconnect();
  }

  listen(listener: (message: Invalidation) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Takes effect here at once, elsewhere within milliseconds. What it tells about is already done in the database, so a Redis that is away fails
   * nothing: the caches of the others forget within seconds.
   */
  async publish(message: Invalidation): Promise<void> {
    for (const listener of this.#listeners) listener(message);
    await this.redis
      .publish(CHANNEL, JSON.stringify(message))
      .catch((error: unknown) => log.warn('an invalidation was not published', { error }));
  }

  #receive(text: string): void {
    const parsed = Message.safeParse(JSON.parse(text));
    if (!parsed.success) return;
    for (const listener of this.#listeners) listener(parsed.data);
  }
}
