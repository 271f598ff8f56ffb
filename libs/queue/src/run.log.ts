import type { Redis } from 'ioredis';
import { z } from 'zod';
import {
  CANCEL_CHANNEL,
  EXECUTORS_KEY,
  FAIR_KEY,
  OPEN_RUNS_KEY,
  runCancelKey,
  runEventsKey,
  runOwnerKey,
  SWEEP_KEY,
} from './keys.ts';
import { ADMIT, ANNOUNCE, APPEND, BEAT, CLAIM, FINISH, SEIZE } from './run.scripts.ts';
import type { RunStreamEntry } from './runs.schema.ts';

/** Entries kept of a run's live output, about; with 32 KiB pieces that is 64 MB at most. */
export const STREAM_LENGTH = 2_000;
/** How long readers can still replay a finished run from its stream; afterwards the stored outcome answers. */
const FINISHED_TTL_MS = 600_000;
/** Beyond the longest run, so that a mark never disappears under a running one. */
const OWNER_TTL_MS = 4 * 3_600_000;
const CANCEL_TTL_MS = 3_600_000;

/** An executor that said nothing for this long is dead: three missed reports. */
export const EXECUTOR_SILENT_MS = 6_000;

/** What an executor says about itself every 2 s. `seenAt` is written by Redis, on its own clock. */
export const ExecutorReport = z.object({
  runner: z.string(),
  sandbox: z.string(),
  slots: z.number(),
  idle: z.number(),
  ready: z.boolean(),
  /** No sandbox is idle and one is being made. */
  preparing: z.boolean().default(false),
  seenAt: z.number(),
});
export type ExecutorReport = z.infer<typeof ExecutorReport>;

/** `open` runs take the places: `all` tenants' together, or the `tenant`'s own share. */
export type Admission = { admitted: true; tag: number } | { admitted: false; by: 'all' | 'tenant'; open: number };

/** `taken`: the run is or was somebody else's. */
export type Claim = 'claimed' | 'cancelled' | 'taken';

export interface OpenRun {
  tenantId: string;
  runId: string;
  /** Epoch ms after which the run cannot be running any more. */
  deadline: number;
}

const COMMANDS = {
  moliRunAdmit: { lua: ADMIT, numberOfKeys: 2 },
  moliRunAnnounce: { lua: ANNOUNCE, numberOfKeys: 2 },
  moliRunClaim: { lua: CLAIM, numberOfKeys: 4 },
  moliRunAppend: { lua: APPEND, numberOfKeys: 2 },
  moliRunFinish: { lua: FINISH, numberOfKeys: 2 },
  moliRunSeize: { lua: SEIZE, numberOfKeys: 2 },
  moliExecutorBeat: { lua: BEAT, numberOfKeys: 1 },
} as const;

/** ioredis adds the commands at run time; this is their type. Each call is one EVALSHA. */
type Scripted = Record<keyof typeof COMMANDS, (...args: (string | number)[]) => Promise<unknown>>;

/** The state of runs in Redis: admission, fence, live output, cancel. Every change is one atomic step. */
export class RunLog {
  readonly #redis: Redis;
  readonly #scripts: Scripted;

  constructor(redis: Redis) {
    this.#redis = redis;
    for (const [name, definition] of Object.entries(COMMANDS)) redis.defineCommand(name, definition);
    this.#scripts = redis as unknown as Scripted;
  }

  /** Takes a place among the open runs, or says how many there are when all, or the tenant's share of them, are taken. Exact: never over `bound`. */
  async admit(run: OpenRun, bound: number): Promise<Admission> {
    const member = `${run.tenantId} ${run.runId}`;
    const [ok, value] = (await this.#scripts.moliRunAdmit(
      OPEN_RUNS_KEY,
      FAIR_KEY,
      run.tenantId,
      member,
      run.deadline,
      bound,
    )) as [number, number];
    if (ok === 1) return { admitted: true, tag: value };
    return { admitted: false, by: ok === 2 ? 'tenant' : 'all', open: value };
  }

  /** Gives the place back once the verdict is stored, or when the run was not accepted after all. */
  async release(tenantId: string, runId: string): Promise<void> {
    await this.#redis.zrem(OPEN_RUNS_KEY, `${tenantId} ${runId}`);
  }

  /**
   * The fence, before any effect: exactly one claim of a run succeeds, ever. `cancelled`: claimed, but not to be started.
   * `mark` is made by `ownerMark`; `tag` is the job's priority; `entry` is the first one of the stream.
   */
  async claim(runId: string, mark: string, tag: number, entry?: RunStreamEntry): Promise<Claim> {
    const keys = [runOwnerKey(runId), runCancelKey(runId), runEventsKey(runId), FAIR_KEY];
    const json = entry ? JSON.stringify(entry) : '';
    return (await this.#scripts.moliRunClaim(...keys, mark, OWNER_TTL_MS, tag, json)) as Claim;
  }

  /**
   * Tells whoever waits for a run that its sandbox is being made: when no executor has one idle and one of them is making some. Executors
   * without a sandbox take no job, so they cannot. False: there was nothing to tell, or the run was claimed meanwhile.
   */
  async announcePreparing(runId: string): Promise<boolean> {
    const alive = [...(await this.executors()).values()].filter(({ ageMs }) => ageMs < EXECUTOR_SILENT_MS);
    if (alive.some(({ idle }) => idle > 0) || !alive.some(({ preparing }) => preparing)) return false;
    const entry: RunStreamEntry = { type: 'stage', stage: 'preparing' };
    const args = [JSON.stringify(entry), OWNER_TTL_MS];
    return (await this.#scripts.moliRunAnnounce(runOwnerKey(runId), runEventsKey(runId), ...args)) === 1;
  }

  /** Adds live output, all of it in one step. False: the run belongs to somebody else by now and must be abandoned. */
  async append(runId: string, mark: string, entries: readonly RunStreamEntry[]): Promise<boolean> {
    const args = [mark, STREAM_LENGTH, OWNER_TTL_MS, ...entries.map((entry) => JSON.stringify(entry))];
    return (await this.#scripts.moliRunAppend(runOwnerKey(runId), runEventsKey(runId), ...args)) === 1;
  }

  /** Whether the mark still stands; asked before an effect outside Redis. */
  async holds(runId: string, mark: string): Promise<boolean> {
    return (await this.#redis.get(runOwnerKey(runId))) === mark;
  }

  /** The last entries and the result, once: no entry follows it. False: somebody else ended the run. */
  async finish(
    runId: string,
    mark: string,
    rest: readonly RunStreamEntry[],
    result: RunStreamEntry & { type: 'result' },
  ): Promise<boolean> {
    const args = [mark, FINISHED_TTL_MS, ...[...rest, result].map((entry) => JSON.stringify(entry))];
    return (await this.#scripts.moliRunFinish(runOwnerKey(runId), runEventsKey(runId), ...args)) === 1;
  }

  /** The gateway ends a run whose mark is `expected` (null: nobody claimed it). False: the mark changed meanwhile. */
  async seize(runId: string, expected: string | null, entry: RunStreamEntry): Promise<boolean> {
    const args = [expected ?? '', JSON.stringify(entry), FINISHED_TTL_MS, OWNER_TTL_MS];
    return (await this.#scripts.moliRunSeize(runOwnerKey(runId), runEventsKey(runId), ...args)) === 1;
  }

  async owner(runId: string): Promise<string | null> {
    return this.#redis.get(runOwnerKey(runId));
  }

  /** Leaves the flag for whoever claims the run later and tells the executor that runs it now. */
  async requestCancel(runId: string): Promise<void> {
    await this.#redis.set(runCancelKey(runId), '1', 'PX', CANCEL_TTL_MS);
    await this.#redis.publish(CANCEL_CHANNEL, runId);
  }

  /** Drops the live output of a finished run before its time. */
  async forget(runId: string): Promise<void> {
    await this.#redis.del(runEventsKey(runId));
  }

  /** The newest entry of the run's stream, or null. */
  async last(runId: string): Promise<RunStreamEntry | null> {
    const [newest] = await this.#redis.xrevrange(runEventsKey(runId), '+', '-', 'COUNT', 1);
    return newest ? (JSON.parse(newest[1][1] as string) as RunStreamEntry) : null;
  }

  /** Runs without a stored verdict, with their owner marks. */
  async open(): Promise<(OpenRun & { owner: string | null })[]> {
    const flat = await this.#redis.zrange(OPEN_RUNS_KEY, '0', '-1', 'WITHSCORES');
    const runs: OpenRun[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const [tenantId = '', runId = ''] = flat[i]!.split(' ');
      runs.push({ tenantId, runId, deadline: Number(flat[i + 1]) });
    }
    if (runs.length === 0) return [];
    const owners = await this.#redis.mget(runs.map((run) => runOwnerKey(run.runId)));
    return runs.map((run, i) => ({ ...run, owner: owners[i] ?? null }));
  }

  /** True for one caller in each period. */
  async takeSweep(periodMs: number): Promise<boolean> {
    return (await this.#redis.set(SWEEP_KEY, '1', 'PX', periodMs, 'NX')) === 'OK';
  }

  async beat(executorId: string, report: Omit<ExecutorReport, 'seenAt'>): Promise<void> {
    await this.#scripts.moliExecutorBeat(EXECUTORS_KEY, executorId, JSON.stringify(report));
  }

  async leave(executorId: string): Promise<void> {
    await this.#redis.hdel(EXECUTORS_KEY, executorId);
  }

  /** Executors by id, with the age of their last report in milliseconds on the Redis clock. */
  async executors(): Promise<Map<string, ExecutorReport & { ageMs: number }>> {
    const answers = await this.#redis.multi().hgetall(EXECUTORS_KEY).time().exec();
    const [reports, time] = (answers ?? []).map(([, value]) => value) as [Record<string, string>, [string, string]];
    const now = Number(time[0]) * 1_000 + Math.floor(Number(time[1]) / 1_000);
    const found = new Map<string, ExecutorReport & { ageMs: number }>();
    for (const [id, json] of Object.entries(reports)) {
      const report = ExecutorReport.safeParse(JSON.parse(json));
      if (report.success) found.set(id, { ...report.data, ageMs: now - report.data.seenAt });
    }
    return found;
  }
}

/** The mark of one attempt of one executor. */
export function ownerMark(executorId: string, token: string): string {
  return `x:${executorId}:${token}`;
}

/** The executor in a mark, or null for `done`, `gateway` and no mark. */
export function executorOf(mark: string | null): string | null {
  return mark?.startsWith('x:') ? (mark.split(':')[1] ?? null) : null;
}
