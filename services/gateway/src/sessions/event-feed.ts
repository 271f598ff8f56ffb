import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Redis } from 'ioredis';
import { REDIS } from '../tokens.ts';
import type { EventType } from './event.schema.ts';
import { type EventLine, eventChannel } from './session-events.ts';

type Listener = (line: EventLine) => void;

/**
 * Live events of the sessions that someone reads here: one subscribing connection for the whole process. It may lose events (Redis keeps none);
 * readers notice a hole by the numbers and look into Postgres.
 */
@Injectable()
export class EventFeed implements OnModuleDestroy {
  readonly #redis: Redis;
  readonly #channels = new Map<string, { listeners: Set<Listener>; subscribed: Promise<unknown> }>();
  #subscriber: Redis | undefined;

  constructor(@Inject(REDIS) redis: Redis) {
    this.#redis = redis;
  }

  /** Calls `listener` for each live event of the session from when the promise resolves. Answers what ends it. */
  async listen(sessionId: string, listener: Listener): Promise<() => void> {
    const name = eventChannel(sessionId);
    let channel = this.#channels.get(name);
    if (!channel) {
      // Without Redis a reader still gets everything from Postgres, only later.
      const subscribed = this.#connection()
        .subscribe(name)
        .catch((error: unknown) => log.warn('live events cannot be subscribed', { session: sessionId, error }));
      channel = { listeners: new Set(), subscribed };
      this.#channels.set(name, channel);
    }
    channel.listeners.add(listener);
    await channel.subscribed;
    return () => this.#end(name, listener);
  }

  onModuleDestroy(): void {
    this.#subscriber?.disconnect();
  }

  #end(name: string, listener: Listener): void {
    const channel = this.#channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.#channels.delete(name);
    this.#subscriber?.unsubscribe(name).catch(() => {});
  }

  #connection(): Redis {
    if (this.#subscriber) return this.#subscriber;
    const subscriber = this.#redis.duplicate({ connectionName: 'moli-gateway-events', lazyConnect: false });
    subscriber.on('error', () => {});
    // Subscriptions come back by themselves after a reconnect, but not those that were asked for while Redis was away.
    subscriber.on('ready', () => {
      if (this.#channels.size > 0) subscriber.subscribe(...this.#channels.keys()).catch(() => {});
    });
    subscriber.on('message', (name: string, json: string) => this.#received(name, json));
    this.#subscriber = subscriber;
    return subscriber;
  }

  #received(name: string, json: string): void {
    const channel = this.#channels.get(name);
    if (!channel) return;
    const { seq, type } = JSON.parse(json) as { seq: number; type: EventType };
    for (const listener of channel.listeners) listener({ seq, type, json });
  }
}
