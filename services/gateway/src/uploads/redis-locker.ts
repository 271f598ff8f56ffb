import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { log } from '@moli/telemetry';
import { ERRORS, type Lock, type Locker, type RequestRelease } from '@tus/server';
import type { Redis } from 'ioredis';

/** String: who writes an upload. Ends by itself, so that a gateway that died holds nothing. */
const lockKey = (id: string): string => `moli:upload-lock:${id}`;
/** Channel: id of an upload that another request wants. */
const WANTED = 'moli:upload-wanted';

const LEASE_MS = 15_000;
/** A connection that broke unnoticed is given up by its holder within 3 s (the library's drain time). */
const WAIT_MS = 30_000;
const LOOK_MS = 100;

/** Lets go only of what is ours: the lease may have ended and the lock may be another's. */
const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;
const RENEW = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`;

/** One writer an upload across all gateways. A request that waits asks the holder to let go, as the tus protocol wants it. */
export class RedisLocker implements Locker {
  readonly redis: Redis;
  readonly holders = new Map<string, RequestRelease>();
  readonly #listener: Redis;

  constructor(redis: Redis) {
    this.redis = redis;
    this.#listener = redis.duplicate({ lazyConnect: true, connectionName: 'moli-gateway-upload-locks' });
    this.#listener.on('error', () => {});
    this.#listener.on('message', (_channel, id: string) => void this.holders.get(id)?.());
  }

  async open(): Promise<void> {
    await this.#listener.connect();
    await this.#listener.subscribe(WANTED);
  }

  async close(): Promise<void> {
    this.#listener.disconnect();
  }

  newLock(id: string): Lock {
    return new RedisLock(this, id);
  }

  /** Asks whoever holds it, in this process or another, to let go. */
  async want(id: string): Promise<void> {
    await this.redis.publish(WANTED, id);
  }
}

class RedisLock implements Lock {
  readonly #locker: RedisLocker;
  readonly #id: string;
  readonly #token = randomUUID();
  #renewal: NodeJS.Timeout | undefined;

  constructor(locker: RedisLocker, id: string) {
    this.#locker = locker;
    this.#id = id;
  }

  /** Throws the library's `ERR_LOCK_TIMEOUT` when the lock is not to be had or the request has ended. */
  async lock(signal: AbortSignal, release: RequestRelease): Promise<void> {
    const { redis } = this.#locker;
    const deadline = Date.now() + WAIT_MS;
    while ((await redis.set(lockKey(this.#id), this.#token, 'PX', LEASE_MS, 'NX')) !== 'OK') {
      if (signal.aborted || Date.now() > deadline) throw ERRORS.ERR_LOCK_TIMEOUT;
      await this.#locker.want(this.#id);
      await delay(LOOK_MS);
    }
    this.#locker.holders.set(this.#id, release);
    this.#renewal = setInterval(() => void this.#renew(release), LEASE_MS / 3);
    this.#renewal.unref();
  }

  async unlock(): Promise<void> {
    clearInterval(this.#renewal);
    this.#locker.holders.delete(this.#id);
    await this.#locker.redis.eval(RELEASE, 1, lockKey(this.#id), this.#token);
  }

  /** Without the lease another request may write: ours has to stop. */
  async #renew(release: RequestRelease): Promise<void> {
    try {
      const kept = await this.#locker.redis.eval(RENEW, 1, lockKey(this.#id), this.#token, LEASE_MS);
      if (kept === 1) return;
    } catch (error) {
      log.warn('the lock of an upload could not be renewed', { upload: this.#id, error });
    }
    await release();
  }
}
