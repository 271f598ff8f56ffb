import { startRedis, type TestRedis } from '@moli/testing';
import { ERRORS } from '@tus/server';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RedisLocker } from './redis-locker.ts';

let server: TestRedis;
let redis: Redis;
let one: RedisLocker;
let two: RedisLocker;
const never = new AbortController().signal;
const ignore = () => {};

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  [one, two] = [new RedisLocker(redis), new RedisLocker(redis)];
  await Promise.all([one.open(), two.open()]);
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  redis.disconnect();
  await server.stop();
});

it('asks the holder at another gateway to let go, and waits until it does', async () => {
  const held = one.newLock('upl_1');
  const order: string[] = [];
  await held.lock(never, () => {
    if (order.length > 0) return;
    order.push('asked');
    void held.unlock().then(() => order.push('let go'));
  });
  const wanted = two.newLock('upl_1');
  await wanted.lock(never, ignore);
  expect(order[0]).toBe('asked');
  await wanted.unlock();
  expect(await redis.keys('moli:upload-lock:*')).toEqual([]);
});

it('does not wait for a request that has ended', async () => {
  const held = one.newLock('upl_2');
  await held.lock(never, ignore);
  await expect(two.newLock('upl_2').lock(AbortSignal.abort(), ignore)).rejects.toBe(ERRORS.ERR_LOCK_TIMEOUT);
  await held.unlock();
});

it('goes on where a gateway died with the lock, and never lets go of what is another’s', async () => {
  const dead = one.newLock('upl_3');
  await dead.lock(never, ignore);
  // As if its gateway had stopped renewing: what is left of the lease passes.
  await redis.pexpire('moli:upload-lock:upl_3', 50);
  const next = two.newLock('upl_3');
  await next.lock(never, ignore);
  await dead.unlock();
  expect(await redis.exists('moli:upload-lock:upl_3')).toBe(1);
  await next.unlock();
  expect(await redis.exists('moli:upload-lock:upl_3')).toBe(0);
});
