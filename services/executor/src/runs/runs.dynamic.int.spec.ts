import { randomBytes, randomUUID } from 'node:crypto';
import { DEFAULT_LIMITS, openRunsQueue, type RunJob, RunLog, type RunOutcome, type RunsQueue } from '@moli/queue';
import { startRedis, type TestRedis, until } from '@moli/testing';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readExecutorConfig } from '../config.ts';
import type { Runner, RunReport, RunSink, RunSpec } from '../runner/runner.ts';
import { RunsProcessor } from './runs.processor.ts';

/** Sandboxes that a test gives and takes, and runs that end when it says so. */
class GivenSandboxes implements Runner {
  readonly name = 'given';
  slots = 0;
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();
  #listener: () => void = () => {};

  set(slots: number): void {
    this.slots = slots;
    this.#listener();
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  async start(): Promise<void> {}
  drain(): void {}
  async close(): Promise<void> {}

  status(): ReturnType<Runner['status']> {
    const idle = this.slots - this.#ends.size;
    return { ready: true, sandbox: 'seccomp', slots: this.slots, idle, preparing: idle === 0 };
  }

  /** As with Pods: a sandbox that had its run is gone. */
  end(runId: string): void {
    this.#ends.get(runId)?.();
  }

  async run(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<RunReport> {
    this.started.push(spec.runId);
    sink.started(0);
    await new Promise<void>((resolve) => {
      this.#ends.set(spec.runId, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#ends.delete(spec.runId);
    this.set(this.slots - 1);
    return {
      verdict: signal.aborted ? 'cancelled' : 'ok',
      exitCode: 0,
      signal: null,
      error: null,
      truncated: { stdout: false, stderr: false },
      skipped: [],
      usage: { wallMs: 0, cpuMs: 0, maxMemoryBytes: 0, outputBytes: 0 },
      timings: { claimMs: 0, stageMs: 0, runMs: 0, collectMs: 0 },
      sandbox: 'seccomp',
    };
  }
}

let server: TestRedis;
let redis: Redis;
let queue: RunsQueue;
let processors: RunsProcessor[];
beforeEach(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
  queue = openRunsQueue(redis, { traces: false });
  processors = [];
});
afterEach(async () => {
  for (const processor of processors) await processor.beforeApplicationShutdown();
  await queue.close();
  redis.disconnect();
  await server.stop();
});

async function executor(env: Record<string, string> = {}): Promise<{ runner: GivenSandboxes; stop(): Promise<void> }> {
  const runner = new GivenSandboxes();
  const config = readExecutorConfig({
    MOLI_EXECUTOR_PORT: '1',
    MOLI_REDIS_URL: server.url,
    MOLI_SANDBOX_PYTHON: '/unused',
    MOLI_SANDBOX_DIR: '/unused',
    MOLI_SANDBOX_STATE_DIR: '/unused',
    ...env,
  });
  const processor = new RunsProcessor(config, redis, runner, randomUUID());
  await processor.onModuleInit();
  processors.push(processor);
  const stop = (): Promise<void> => {
    processors = processors.filter((one) => one !== processor);
    return processor.beforeApplicationShutdown();
  };
  return { runner, stop };
}

async function add(priority = 1): Promise<string> {
  const runId = `run_${randomBytes(16).toString('hex')}`;
  const job: RunJob = {
    runId,
    tenantId: `ten_${'0'.repeat(32)}`,
    code: '',
    filename: 'main.py',
    limits: DEFAULT_LIMITS,
    files: [],
    artifacts: { maxBytes: 1, maxCount: 1 },
    acceptedAt: Date.now(),
    startBefore: Date.now() + 60_000,
  };
  await queue.add('run', job, { jobId: runId, priority });
  return runId;
}

const outcomeOf = (runId: string): Promise<RunOutcome> =>
  until(
    async () => {
      const last = await new RunLog(redis).last(runId);
      return last?.type === 'result' && last.outcome;
    },
    { what: 'the result', timeoutMs: 20_000 },
  );

it('takes no job without a sandbox, and as many as there are', async () => {
  const { runner } = await executor();
  const runIds = [await add(), await add(), await add()];
  runner.set(2);
  await until(() => runner.started.length === 2, { what: 'two begin', timeoutMs: 10_000 });
  expect(await queue.getJobCounts('active', 'prioritized')).toEqual({ active: 2, prioritized: 1 });
  // Each that ends takes its sandbox with it: the third waits for a new one.
  for (const runId of runner.started) runner.end(runId);
  for (const runId of runIds.slice(0, 2)) expect((await outcomeOf(runId)).verdict).toBe('ok');
  expect(runner.started).toHaveLength(2);
  runner.set(1);
  await until(() => runner.started.length === 3, { what: 'the third begins', timeoutMs: 10_000 });
  runner.end(runIds[2]!);
  expect((await outcomeOf(runIds[2]!)).verdict).toBe('ok');
});

it('leaves a job to the executor that has a sandbox, even when it was waiting for one itself', async () => {
  const [a, b] = [await executor(), await executor()];
  a.runner.set(1);
  // Its worker blocks on the queue by now; then its sandbox goes.
  await until(async () => ((await redis.client('LIST')) as string).includes('cmd=bzpopmin'), {
    what: 'the worker waits',
    timeoutMs: 10_000,
  });
  a.runner.set(0);
  b.runner.set(1);
  const runId = await add(7);
  await until(() => b.runner.started.includes(runId), { what: 'the other one runs it', timeoutMs: 20_000 });
  expect(a.runner.started).toEqual([]);
  b.runner.end(runId);
  expect((await outcomeOf(runId)).verdict).toBe('ok');
});

it('lets runs end that are on when it stops, and ends those that take too long', async () => {
  const { runner, stop } = await executor({ MOLI_SHUTDOWN_SECONDS: '2' });
  runner.set(2);
  const [short, long] = [await add(), await add()];
  await until(() => runner.started.length === 2, { what: 'both begin', timeoutMs: 10_000 });
  const stopped = stop();
  const late = await add();
  runner.end(short);
  await stopped;
  expect((await outcomeOf(short)).verdict).toBe('ok');
  expect(await outcomeOf(long)).toMatchObject({ verdict: 'platform_error', error: { name: 'executor_stopping' } });
  expect(await queue.getJobCounts('prioritized')).toEqual({ prioritized: 1 });
  expect(runner.started).not.toContain(late);
});
