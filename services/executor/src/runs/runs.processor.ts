import { randomUUID } from 'node:crypto';
import {
  CANCEL_CHANNEL,
  type LinksClient,
  openLinksClient,
  openRunsWorker,
  RunJob,
  RunLog,
  type RunReceipt,
  type RunsWorker,
} from '@moli/queue';
import { log, STEPS, span } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type Job, UnrecoverableError } from 'bullmq';
import type { Redis } from 'ioredis';
import type { ExecutorConfig } from '../config.ts';
import { metrics } from '../metrics.ts';
import type { Runner } from '../runner/runner.ts';
import { CONFIG, REDIS, RUNNER } from '../tokens.ts';
import { RunExecution } from './run.execution.ts';

/** How often the executor says that it lives; the gateway gives it up after three missed ones. */
const BEAT_MS = 2_000;
/** Running jobs may end by themselves for this long after SIGTERM; the whole stop takes at most 5 s. */
const FINISH_MS = 3_000;

/** Takes jobs of the `runs` queue, as many at once as there are sandboxes. */
@Injectable()
export class RunsProcessor implements OnModuleInit, OnApplicationShutdown {
  readonly executorId = randomUUID();
  readonly #config: ExecutorConfig;
  readonly #redis: Redis;
  readonly #runner: Runner;
  readonly #runLog: RunLog;
  readonly #running = new Map<string, RunExecution>();
  #links!: LinksClient;
  #worker!: RunsWorker;
  #cancels!: Redis;
  #beat: NodeJS.Timeout | null = null;

  constructor(@Inject(CONFIG) config: ExecutorConfig, @Inject(REDIS) redis: Redis, @Inject(RUNNER) runner: Runner) {
    this.#config = config;
    this.#redis = redis;
    this.#runner = runner;
    this.#runLog = new RunLog(redis);
  }

  get ready(): boolean {
    return this.#runner.status().ready && (this.#worker?.isRunning() ?? false);
  }

  async onModuleInit(): Promise<void> {
    const traces = this.#config.otlpEndpoint !== undefined;
    this.#links = openLinksClient(this.#redis, { traces });
    this.#cancels = this.#redis.duplicate();
    this.#cancels.on('error', () => {});
    this.#cancels.on('message', (_channel, runId: string) => this.#running.get(runId)?.stop('cancelled'));
    await this.#cancels.subscribe(CANCEL_CHANNEL);
    this.#worker = openRunsWorker(this.#redis, (job) => this.#process(job), {
      traces,
      concurrency: this.#runner.slots,
    });
    this.#worker.on('error', (error) => log.warn('the runs queue answers with an error', { error }));
    this.#worker.on('lockRenewalFailed', (runIds) => {
      for (const runId of runIds) this.#running.get(runId)?.stop('lost');
    });
    await this.#runner.start();
    await this.#report();
    this.#beat = setInterval(() => void this.#report(), BEAT_MS);
    void this.#worker.run().catch((error: unknown) => log.error('the runs worker ended', { error }));
  }

  async onApplicationShutdown(): Promise<void> {
    const late = setTimeout(() => {
      for (const run of this.#running.values()) run.stop('executor_stopping');
    }, FINISH_MS);
    await this.#worker.close().catch(() => {});
    clearTimeout(late);
    if (this.#beat) clearInterval(this.#beat);
    await this.#runLog.leave(this.executorId).catch(() => {});
    await Promise.allSettled([this.#links.close(), this.#runner.close()]);
    this.#cancels.disconnect();
  }

  async #process(job: Job<RunJob, RunReceipt, 'run'>): Promise<RunReceipt> {
    const parsed = RunJob.safeParse(job.data);
    if (!parsed.success) throw new UnrecoverableError('malformed job');
    const { runId } = parsed.data;
    return span(STEPS.run, { 'moli.run': runId }, async (active) => {
      const execution = new RunExecution(parsed.data, {
        executorId: this.executorId,
        runner: this.#runner,
        runLog: this.#runLog,
        links: this.#links,
      });
      this.#running.set(runId, execution);
      try {
        const outcome = await execution.execute(job.opts.priority ?? 0);
        if (!outcome) throw new UnrecoverableError('the run belongs to another executor');
        active.setAttribute('moli.verdict', outcome.verdict);
        return { verdict: outcome.verdict };
      } finally {
        this.#running.delete(runId);
      }
    });
  }

  async #report(): Promise<void> {
    const { ready, sandbox, slots } = this.#runner.status();
    const idle = ready ? Math.max(0, slots - this.#running.size) : 0;
    metrics.poolIdle.set(idle);
    metrics.poolSlots.set(slots);
    try {
      await this.#runLog.beat(this.executorId, { runner: this.#runner.name, sandbox, slots, idle, ready });
    } catch (error) {
      log.warn('the executor could not report itself', { error });
    }
  }
}
