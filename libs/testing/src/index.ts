export { freePort, until } from '@moli/processes';
export { freshDatabase, type TestDatabase } from './database.ts';
export { type Fault, type FaultProxy, type SeenRequest, startFaultProxy } from './fault-proxy.ts';
export { testFolder } from './folder.ts';
export { type OtlpCollector, type ReceivedSpan, startOtlpCollector } from './otlp-collector.ts';
export { startPostgres, type TestPostgres } from './postgres.ts';
export { startRedis, type TestRedis } from './redis.ts';
export { type S3Keys, startS3, startStrictS3, type TestS3 } from './s3.ts';
export { SANDBOX_DIR, sandboxPython } from './sandbox.ts';
