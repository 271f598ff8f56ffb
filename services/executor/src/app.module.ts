import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { log } from '@moli/telemetry';
import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { ExecutorConfig } from './config.ts';
import { HealthController } from './health/health.controller.ts';
import { LocalRunner } from './runner/local/local.runner.ts';
import type { Runner } from './runner/runner.ts';
import { RunsProcessor } from './runs/runs.processor.ts';
import { CONFIG, EXECUTOR_ID, REDIS, RUNNER } from './tokens.ts';

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
        { provide: EXECUTOR_ID, useFactory: () => randomUUID() },
        {
          provide: RUNNER,
          useFactory: (redis: Redis, executorId: string) => makeRunner(config, redis, executorId),
          inject: [REDIS, EXECUTOR_ID],
        },
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

async function makeRunner(config: ExecutorConfig, redis: Redis, executorId: string): Promise<Runner> {
  if (config.runner === 'local') return localRunner(config);
  // The client of the Kubernetes API takes 30 MB: only where there is a cluster.
  const { kubernetesRunner } = await import('./runner/kubernetes/make.runner.ts');
  return kubernetesRunner(config, redis, executorId);
}

function localRunner(config: ExecutorConfig): LocalRunner {
  return new LocalRunner({
    sandboxDir: config.sandboxDir!,
    python: config.sandboxPython!,
    stateDir: join(config.sandboxStateDir!, 'box'),
    outboxDir: join(config.sandboxStateDir!, 'outbox'),
    slots: config.sandboxSlots,
    ...(config.sandboxMinStrength ? { minStrength: config.sandboxMinStrength } : {}),
  });
}
