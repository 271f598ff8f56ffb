export { freePort, until } from '@moli/processes';
export { freshDatabase, type TestDatabase } from './database.ts';
export { testFolder } from './folder.ts';
export { type OtlpCollector, type ReceivedSpan, startOtlpCollector } from './otlp-collector.ts';
export { startPostgres, type TestPostgres } from './postgres.ts';
export { startRedis, type TestRedis } from './redis.ts';
export { SANDBOX_DIR, sandboxPython } from './sandbox.ts';
