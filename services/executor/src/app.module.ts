import { join } from 'node:path';
import { log } from '@moli/telemetry';
import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { ExecutorConfig } from './config.ts';
import { HealthController } from './health/health.controller.ts';
import { LocalRunner } from './runner/local/local.runner.ts';
import { RunsProcessor } from './runs/runs.processor.ts';
import { CONFIG, REDIS, RUNNER } from './tokens.ts';

@Module({})
export class AppModule implements OnApplicationShutdown {
  readonly #redis: Redis;

  constructor(@Inject(REDIS) redis: Redis) {
    this.#redis = redis;
  }

  static with(config: ExecutorConfig): DynamicModule {
    return {
      module: AppModule,
      controllers: [HealthController],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: REDIS, useFactory: () => connect(config.redisUrl) },
        { provide: RUNNER, useFactory: () => localRunner(config) },
        RunsProcessor,
      ],
    };
  }

  /** After the processor: Nest ends providers before the modules that hold them, and it still reports through this connection. */
  onApplicationShutdown(): void {
    this.#redis.disconnect();
  }
}

/** Workers block and wait for Redis to come back, so a command must never give up by count. */
function connect(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', (error: Error) => log.warn('redis connection', { error }));
  return redis;
}

function localRunner(config: ExecutorConfig): LocalRunner {
  return new LocalRunner({
    sandboxDir: config.sandboxDir,
    python: config.sandboxPython,
    stateDir: join(config.sandboxStateDir, 'box'),
    outboxDir: join(config.sandboxStateDir, 'outbox'),
    slots: config.sandboxSlots,
    ...(config.sandboxMinStrength ? { minStrength: config.sandboxMinStrength } : {}),
  });
}
