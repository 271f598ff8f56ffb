import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { registry } from '../metrics.ts';
import type { Runner } from '../runner/runner.ts';
import { REDIS, RUNNER } from '../tokens.ts';

/** A dependency that does not answer in this time counts as down. */
const PING_MS = 1_000;

@Controller()
export class HealthController {
  readonly #redis: Redis;
  readonly #runner: Runner;

  constructor(@Inject(REDIS) redis: Redis, @Inject(RUNNER) runner: Runner) {
    this.#redis = redis;
    this.#runner = runner;
  }

  /** The process itself. */
  @Get('livez')
  livez(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Each dependency by name; 503 while one is missing. */
  @Get('readyz')
  async readyz(@Res({ passthrough: true }) reply: { status(code: number): unknown }): Promise<Record<string, unknown>> {
    const redis = await Promise.race([
      this.#redis.ping().then(
        () => true,
        () => false,
      ),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), PING_MS).unref()),
    ]);
    const { ready, reason, sandbox, slots, idle } = this.#runner.status();
    reply.status(redis && ready ? 200 : 503);
    return {
      redis: { ready: redis },
      sandbox: { ready, runner: this.#runner.name, strength: sandbox, slots, idle, ...(reason ? { reason } : {}) },
    };
  }

  @Get('metrics')
  @Header('content-type', registry.contentType)
  metrics(): Promise<string> {
    return registry.metrics();
  }
}
