import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { REDIS } from '../tokens.ts';

interface Bound {
  readonly attempts: number;
  readonly windowSeconds: number;
}

/** Failed attempts that are let through before the next one has to wait. */
const BOUNDS = {
  /** One account from anywhere: guessing a password. */
  account: { attempts: 5, windowSeconds: 60 },
  /** One address on any account: trying leaked passwords. */
  address: { attempts: 20, windowSeconds: 60 },
  /** One address on links and invitations; their tokens are random, this bounds the load. */
  link: { attempts: 30, windowSeconds: 60 },
} as const satisfies Record<string, Bound>;

export type AttemptKind = keyof typeof BOUNDS;

/** Adds one and answers [count, milliseconds until the window ends]. The window starts with its first attempt. */
const TAKE = `local n = redis.call('incr', KEYS[1])
if n == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
return {n, redis.call('pttl', KEYS[1])}`;

/** An IPv6 client owns a /64: it counts as one address. */
function network(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - left.length - (tail === '' ? 0 : tail.split(':').length);
  return [...left, ...Array<string>(Math.max(0, missing)).fill('0'), ...(tail ? tail.split(':') : [])]
    .slice(0, 4)
    .join(':');
}

/** Counts attempts to get in, for all gateways together. Keys: `attempts:{kind}:{sha256}`, gone after their window. */
@Injectable()
export class Attempts {
  constructor(@Inject(REDIS) private readonly redis: Redis) {}

  /** Takes one attempt; over the bound throws `rate_limited` with the time to wait. Give it back when the attempt succeeded. */
  async take(kind: AttemptKind, subject: string): Promise<void> {
    const { attempts, windowSeconds } = BOUNDS[kind];
    const [count, ttlMs] = (await this.redis.eval(TAKE, 1, this.#key(kind, subject), windowSeconds * 1000)) as [
      number,
      number,
    ];
    if (count <= attempts) return;
    const seconds = Math.max(1, Math.ceil(ttlMs / 1000));
    throw new AppError(
      'rate_limited',
      { zh: `尝试次数过多，请在 ${seconds} 秒后再试。`, en: `Too many attempts. Try again in ${seconds} s.` },
      { retryAfterSeconds: seconds, fields: { limit: attempts, resetAt: new Date(Date.now() + ttlMs).toISOString() } },
    );
  }

  /** A successful attempt does not count. */
  async giveBack(kind: AttemptKind, subject: string): Promise<void> {
    await this.redis.eval(
      "if redis.call('exists', KEYS[1]) == 1 then return redis.call('decr', KEYS[1]) end",
      1,
      this.#key(kind, subject),
    );
  }

  #key(kind: AttemptKind, subject: string): string {
    const name = kind === 'account' ? subject.toLowerCase() : network(subject);
    return `attempts:${kind}:${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  }
}
