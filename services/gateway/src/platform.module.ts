import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import { AuditStore } from './audit/audit.store.ts';
import type { GatewayConfig } from './config.ts';
import { kyselyOf, makePool } from './database/pools.ts';
import { TenantDb } from './database/tenant-db.ts';
import { Metrics } from './metrics.ts';
import { makeObjects } from './objects/objects.provider.ts';
import { makeRedis } from './redis.ts';
import { APP_POOL, AUTH_DB, AUTH_POOL, CONFIG, LOG_DB, LOG_POOL, OBJECTS, REDIS } from './tokens.ts';
import { Drain } from './web/drain.ts';

function pools(config: GatewayConfig) {
  const half = Math.max(2, Math.ceil(config.databasePoolSize / 2));
  return [
    {
      provide: APP_POOL,
      useFactory: () => makePool({ url: config.databaseUrl, name: 'moli-gateway', max: config.databasePoolSize }),
    },
    {
      provide: LOG_POOL,
      useFactory: () => makePool({ url: config.databaseLogUrl, name: 'moli-gateway-log', max: half }),
    },
    {
      provide: AUTH_POOL,
      useFactory: () =>
        makePool({ url: config.databaseAuthUrl, name: 'moli-gateway-auth', max: half, searchPath: 'auth,public' }),
    },
    { provide: TenantDb, inject: [APP_POOL], useFactory: (pool: pg.Pool) => new TenantDb(pool) },
    { provide: LOG_DB, inject: [LOG_POOL], useFactory: kyselyOf },
    { provide: AUTH_DB, inject: [AUTH_POOL], useFactory: kyselyOf },
  ];
}

export interface PlatformOptions {
  /** Makes the parts without opening anything: enough to describe the routes. */
  readonly offline?: boolean;
}

/** What the whole gateway shares, made once: configuration, database doors, Redis, objects, audit, metrics, the end. */
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(
    @Inject(APP_POOL) private readonly appPool: pg.Pool,
    @Inject(LOG_POOL) private readonly logPool: pg.Pool,
    @Inject(AUTH_POOL) private readonly authPool: pg.Pool,
    @Inject(REDIS) private readonly redis: Redis,
  ) {}

  static register(config: GatewayConfig, { offline = false }: PlatformOptions = {}): DynamicModule {
    const providers = [
      { provide: CONFIG, useValue: config },
      ...pools(config),
      {
        provide: REDIS,
        useFactory: async () => {
          const redis = makeRedis(config.redisUrl, 'moli-gateway');
          if (!offline) await redis.connect();
          return redis;
        },
      },
      { provide: OBJECTS, useFactory: () => (offline ? null : makeObjects(config)) },
      AuditStore,
      Metrics,
      Drain,
    ];
    return {
      module: PlatformModule,
      global: true,
      providers,
      exports: providers.map((one) => ('provide' in one ? one.provide : one)),
    };
  }

  /** After every other module has stopped using them. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.appPool.end(), this.logPool.end(), this.authPool.end()]);
    this.redis.disconnect();
  }
}
