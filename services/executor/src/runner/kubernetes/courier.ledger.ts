import { EXECUTOR_SILENT_MS, RunLog } from '@moli/queue';
import type { Redis } from 'ioredis';

/** Hash: UID of a sandbox Pod → executor that holds its courier. Entries of Pods that are gone are removed by the reaper. */
const HOLDERS_KEY = 'moli:sandboxes:holders';
/** Executor that gave the Pod its one run, set once with NX. Expires long after any Pod. */
const usedKey = (podUid: string): string => `moli:sandboxes:${podUid}:used`;
const USED_TTL_MS = 24 * 3_600_000;
/** Reason for which an executor refused the Pod's courier, which tries again; expires soon after its last try. */
const refusedKey = (podUid: string): string => `moli:sandboxes:${podUid}:refused`;
const REFUSED_TTL_MS = 20_000;
/** How many Pods were used in ten seconds; expires a minute later. */
const USES_BUCKET_MS = 10_000;
const usesKey = (bucket: number): string => `moli:sandboxes:uses:${bucket}`;
/** Held by one executor for a moment; expires by itself. */
const lockKey = (work: string): string => `moli:sandboxes:lock:${work}`;

/** What executors know of each other's Pods. */
export interface PodUse {
  /** Executor that holds its courier and is alive. */
  readonly holder: string | null;
  readonly used: boolean;
  /** Why an executor refused its courier lately, or null. */
  readonly refused: string | null;
}

/** Which executor has which Pod: shared by all executors, in Redis. */
export class CourierLedger {
  readonly executorId: string;
  readonly #redis: Redis;
  readonly #runLog: RunLog;

  constructor(redis: Redis, executorId: string) {
    this.#redis = redis;
    this.executorId = executorId;
    this.#runLog = new RunLog(redis);
  }

  async hold(podUid: string): Promise<void> {
    await this.#redis.hset(HOLDERS_KEY, podUid, this.executorId);
  }

  /** Only while it is ours: a courier may be with another executor before we see that its stream broke. */
  async release(podUid: string): Promise<void> {
    if ((await this.#redis.hget(HOLDERS_KEY, podUid)) === this.executorId) await this.#redis.hdel(HOLDERS_KEY, podUid);
  }

  /** The one use of a Pod: true for exactly one caller, ever, whoever believes to hold its courier. */
  async use(podUid: string): Promise<boolean> {
    const bucket = usesKey(Math.floor(Date.now() / USES_BUCKET_MS));
    const [first] =
      (await this.#redis
        .pipeline()
        .set(usedKey(podUid), this.executorId, 'PX', USED_TTL_MS, 'NX')
        .incr(bucket)
        .expire(bucket, 60)
        .exec()) ?? [];
    if (first?.[0]) throw first[0];
    return first?.[1] === 'OK';
  }

  /** Pods used per second by all executors, lately. */
  async useRate(): Promise<number> {
    const bucket = Math.floor(Date.now() / USES_BUCKET_MS);
    const counts = await this.#redis.mget(usesKey(bucket), usesKey(bucket - 1));
    // The running bucket is part of a period: the larger of both is nearer to the truth than their mean.
    return Math.max(...counts.map(Number)) / (USES_BUCKET_MS / 1_000);
  }

  async used(podUid: string): Promise<boolean> {
    return (await this.#redis.exists(usedKey(podUid))) === 1;
  }

  async refuse(podUid: string, reason: string): Promise<void> {
    await this.#redis.set(refusedKey(podUid), reason, 'PX', REFUSED_TTL_MS);
  }

  /** What is known of these Pods, in their order. */
  async uses(podUids: readonly string[]): Promise<PodUse[]> {
    if (podUids.length === 0) return [];
    const [holders, used, refused, alive] = await Promise.all([
      this.#redis.hmget(HOLDERS_KEY, ...podUids),
      this.#redis.mget(podUids.map(usedKey)),
      this.#redis.mget(podUids.map(refusedKey)),
      this.#alive(),
    ]);
    return podUids.map((_, i) => {
      const holder = holders[i] ?? null;
      return {
        holder: holder !== null && alive.has(holder) ? holder : null,
        used: used[i] !== null,
        refused: refused[i] ?? null,
      };
    });
  }

  /** Whether another living executor holds a Pod. */
  async heldElsewhere(): Promise<boolean> {
    const [holders, alive] = await Promise.all([this.#redis.hvals(HOLDERS_KEY), this.#alive()]);
    return holders.some((holder) => holder !== this.executorId && alive.has(holder));
  }

  /** Forgets the holders of Pods that are gone. */
  async forgetAllBut(podUids: ReadonlySet<string>): Promise<void> {
    const gone = (await this.#redis.hkeys(HOLDERS_KEY)).filter((uid) => !podUids.has(uid));
    if (gone.length > 0) await this.#redis.hdel(HOLDERS_KEY, ...gone);
  }

  /** True for one executor in each period. */
  async takeTurn(work: string, periodMs: number): Promise<boolean> {
    return (await this.#redis.set(lockKey(work), this.executorId, 'PX', periodMs, 'NX')) === 'OK';
  }

  async #alive(): Promise<Set<string>> {
    const executors = await this.#runLog.executors();
    return new Set([...executors].filter(([, { ageMs }]) => ageMs < EXECUTOR_SILENT_MS).map(([id]) => id));
  }
}
