import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { REDIS } from '../tokens.ts';

/** What one gateway asks another that holds a session. */
const GatewayCall = z.object({
  kind: z.enum(['stopped', 'dropped']),
  sessionId: z.string(),
  by: z.string().optional(),
});
export type GatewayCall = z.infer<typeof GatewayCall>;

/** Redis channel of one gateway. Pub/sub keeps nothing, so there is no time to live. */
const callChannel = (gatewayId: string): string => `gateway:${gatewayId}:calls`;

/** Short messages between gateways: a stop that arrives at one is for the turn that runs in another. */
@Injectable()
export class GatewayCalls {
  readonly #redis: Redis;
  #subscriber: Redis | undefined;

  constructor(@Inject(REDIS) redis: Redis) {
    this.#redis = redis;
  }

  async listen(gatewayId: string, onCall: (call: GatewayCall) => void): Promise<void> {
    const subscriber = this.#redis.duplicate({ connectionName: 'moli-gateway-calls', lazyConnect: false });
    this.#subscriber = subscriber;
    subscriber.on('error', () => {});
    subscriber.on('message', (_channel: string, text: string) => {
      const call = GatewayCall.safeParse(JSON.parse(text));
      if (call.success) onCall(call.data);
    });
    await subscriber.subscribe(callChannel(gatewayId));
  }

  /** False when that gateway did not get it. */
  async send(gatewayId: string, call: GatewayCall): Promise<boolean> {
    return (await this.#redis.publish(callChannel(gatewayId), JSON.stringify(call))) > 0;
  }

  close(): void {
    this.#subscriber?.disconnect();
  }
}
