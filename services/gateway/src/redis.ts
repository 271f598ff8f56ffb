import { log } from '@moli/telemetry';
import { Redis } from 'ioredis';

/**
 * A connection that comes back by itself: retries for ever with a pause of at most 1 s. A command waits for at most one retry of the connection
 * and then fails, so that requests end clearly (503) while Redis is away.
 */
export function makeRedis(url: string, name: string): Redis {
  const redis = new Redis(url, {
    connectionName: name,
    lazyConnect: true,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
    maxRetriesPerRequest: 2,
    connectTimeout: 5_000,
  });
  let broken = false;
  redis.on('error', (error) => {
    if (!broken) log.warn('the connection to Redis broke', { connection: name, error });
    broken = true;
  });
  redis.on('ready', () => {
    if (broken) log.info('the connection to Redis is back', { connection: name });
    broken = false;
  });
  return redis;
}
