import { type Job, Queue, Worker, type WorkerOptions } from 'bullmq';
import { BullMQOtel } from 'bullmq-otel';
import type { Redis } from 'ioredis';
import type { RunJob, Verdict } from './runs.schema.ts';

/** Runs waiting for a sandbox; `jobId` is the run id, `priority` the fair tag. */
export const RUNS_QUEUE = 'runs';

/** What a finished job keeps; the outcome itself travels on the run's stream. */
export interface RunReceipt {
  verdict: Verdict;
}
export type RunsQueue = Queue<RunJob, RunReceipt, 'run'>;
export type RunsWorker = Worker<RunJob, RunReceipt, 'run'>;

export interface QueueTelemetry {
  /** Put the trace context into jobs and continue it in workers. */
  traces: boolean;
}

export function openRunsQueue(connection: Redis, { traces }: QueueTelemetry): RunsQueue {
  return new Queue(RUNS_QUEUE, {
    connection,
    ...(traces ? { telemetry: new BullMQOtel({ tracerName: 'moli' }) } : {}),
    defaultJobOptions: {
      attempts: 1,
      // A finished job is in Postgres; its payload (code, links) does not stay in Redis for long.
      removeOnComplete: { age: 60, count: 500 },
      removeOnFail: { age: 60, count: 500 },
    },
    // Nobody reads the queue's own event stream.
    streams: { events: { maxLen: 10 } },
  });
}

/**
 * A job whose executor died is found after at most lockDuration + stalledInterval. It goes back to waiting once: the fence decides whether
 * it had begun, and a run that had begun is never executed again. An event loop that is blocked for longer than the lock counts as dead.
 */
export const RUNS_WORKER_OPTIONS = {
  lockDuration: 5_000,
  stalledInterval: 2_000,
  maxStalledCount: 1,
} as const satisfies Partial<WorkerOptions>;

export function openRunsWorker(
  connection: Redis,
  process: (job: Job<RunJob, RunReceipt, 'run'>, token?: string) => Promise<RunReceipt>,
  { traces, concurrency }: QueueTelemetry & { concurrency: number },
): RunsWorker {
  return new Worker(RUNS_QUEUE, process, {
    connection,
    concurrency,
    autorun: false,
    ...RUNS_WORKER_OPTIONS,
    ...(traces ? { telemetry: new BullMQOtel({ tracerName: 'moli' }) } : {}),
  });
}
