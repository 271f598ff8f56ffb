export { freePort, type PortHolder, portHolder } from './ports.ts';
export { type PostgresOptions, type RunningPostgres, startPostgresServer } from './postgres.ts';
export { type Exit, type ProcessSpec, type RunningProcess, startProcess } from './process.ts';
export { findProcess, isAlive, type ProcessId, residentBytes } from './process-id.ts';
export { type RedisOptions, type RunningRedis, startRedisServer } from './redis.ts';
export { until } from './until.ts';
