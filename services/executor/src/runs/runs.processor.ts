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
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import type { Redis } from 'ioredis';
import type { ExecutorConfig } from '../config.ts';
import { metrics } from '../metrics.ts';
import type { Runner } from '../runner/runner.ts';
import { CONFIG, EXECUTOR_ID, REDIS, RUNNER } from '../tokens.ts';
import { RunExecution } from './run.execution.ts';

/** How often the executor says that it lives; the gateway gives it up after three missed ones. */
const BEAT_MS = 2_000;
/** A change is told at once, but a storm of changes only this often. */
const CHANGE_BEAT_MS = 200;
/** Goodbyes to Redis get this long once no run is on, or the last ones were told to stop: commands to a Redis that is gone wait for it for ever. */
const GOODBYE_MS = 5_000;

/**
 * Takes jobs of the `runs` queue, as many at once as there are sandboxes. With none it takes no job, so that an executor that has one does.
 */
@Injectable()
export class RunsProcessor implements OnModuleInit, BeforeApplicationShutdown {
  readonly executorId: string;
  readonly #config: ExecutorConfig;
  readonly #redis: Redis;
  readonly #runner: Runner;
  readonly #runLog: RunLog;
  readonly #running = new Map<string, RunExecution>();
  #links!: LinksClient;
  #worker!: RunsWorker;
  #cancels!: Redis;
  #beat: NodeJS.Timeout | null = null;
  #changeBeat: NodeJS.Timeout | null = null;
  #stopping = false;
  #goodbye: NodeJS.Timeout | undefined;
  readonly #gaveUp = Promise.withResolvers<void>();

  constructor(
    @Inject(CONFIG) config: ExecutorConfig,
    @Inject(REDIS) redis: Redis,
    @Inject(RUNNER) runner: Runner,
    @Inject(EXECUTOR_ID) executorId: string,
  ) {
    this.executorId = executorId;
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
    this.#worker = openRunsWorker(this.#redis, (job, token) => this.#process(job, token), {
      traces,
      concurrency: Math.max(1, this.#runner.slots),
    });
    this.#worker.on('error', (error) => log.warn('the runs queue answers with an error', { error }));
    this.#worker.on('lockRenewalFailed', (runIds) => {
      for (const runId of runIds) this.#running.get(runId)?.stop('lost');
    });
    await this.#runner.start();
    await this.#report();
    this.#beat = setInterval(() => void this.#report(), BEAT_MS);
    this.#runner.onChange(() => this.#changed());
    if (this.#runner.slots === 0) await this.#worker.pause(true);
    else void this.#worker.run().catch((error: unknown) => log.error('the runs worker ended', { error }));
  }

  /** Before health and metrics go: a stop that waits for long runs can be watched. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#stopping = true;
    this.#runner.drain();
    this.#boundGoodbye();
    let last: NodeJS.Timeout | undefined;
    const late = setTimeout(() => {
      for (const run of this.#running.values()) run.stop('executor_stopping');
      last = setTimeout(() => this.#giveUp(), GOODBYE_MS);
    }, this.#config.shutdownSeconds * 1_000);
    await this.#unlessGone(this.#worker.close());
    clearTimeout(late);
    if (this.#beat) clearInterval(this.#beat);
    if (this.#changeBeat) clearTimeout(this.#changeBeat);
    await this.#unlessGone(this.#runLog.leave(this.executorId));
    await Promise.allSettled([this.#unlessGone(this.#links.close()), this.#runner.close()]);
    for (const timer of [this.#goodbye, last]) clearTimeout(timer);
    this.#cancels.disconnect();
  }

  /** While it stops: a run that is on has its time, and without one closing is bounded. */
  #boundGoodbye(): void {
    clearTimeout(this.#goodbye);
    if (this.#stopping && this.#running.size === 0) this.#goodbye = setTimeout(() => this.#giveUp(), GOODBYE_MS);
  }

  #giveUp(): void {
    log.warn('Redis did not answer the goodbye of this executor', { runs: this.#running.size });
    this.#gaveUp.resolve();
  }

  /** What Redis has to answer, or nothing once it was given up: the gateway ends for us what an executor leaves behind that reports no more. */
  async #unlessGone(goodbye: Promise<unknown>): Promise<void> {
    await Promise.race([goodbye.catch(() => {}), this.#gaveUp.promise]);
  }

  async #process(job: Job<RunJob, RunReceipt, 'run'>, token: string | undefined): Promise<RunReceipt> {
    // The last sandbox went between the worker's look and the job's arrival: somebody else may have one.
    if (this.#running.size >= this.#runner.slots) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
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
      this.#boundGoodbye();
      try {
        const outcome = await execution.execute(job.opts.priority ?? 0);
        if (!outcome) throw new UnrecoverableError('the run belongs to another executor');
        active.setAttribute('moli.verdict', outcome.verdict);
        return { verdict: outcome.verdict };
      } finally {
        this.#running.delete(runId);
        this.#boundGoodbye();
        this.#follow();
      }
    });
  }

  #changed(): void {
    this.#follow();
    this.#changeBeat ??= setTimeout(() => {
      this.#changeBeat = null;
      void this.#report();
    }, CHANGE_BEAT_MS);
  }

  /** As many jobs as there are sandboxes; BullMQ's concurrency cannot be 0, so the worker pauses instead. */
  #follow(): void {
    if (this.#stopping) return;
    const { slots } = this.#runner;
    if (slots > 0) this.#worker.concurrency = slots;
    if (slots > 0 && this.#worker.isPaused()) void this.#worker.resume();
    if (slots === 0 && !this.#worker.isPaused()) void this.#worker.pause(true);
  }

  async #report(): Promise<void> {
    const { ready, sandbox, slots, preparing } = this.#runner.status();
    const idle = ready ? Math.max(0, slots - this.#running.size) : 0;
    metrics.poolIdle.set(idle);
    metrics.poolSlots.set(slots);
    try {
      await this.#runLog.beat(this.executorId, { runner: this.#runner.name, sandbox, slots, idle, ready, preparing });
    } catch (error) {
      log.warn('the executor could not report itself', { error });
    }
  }
}
