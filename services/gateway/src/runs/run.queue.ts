import { openRunsQueue, type RunJob, RunLog, type RunsQueue } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { GatewayConfig } from '../config.ts';
import { CONFIG, REDIS } from '../tokens.ts';

/** The gateway's end of the `runs` queue, with the state of runs in Redis beside it. */
@Injectable()
export class RunQueue implements OnApplicationShutdown {
  readonly runLog: RunLog;
  readonly #queue: RunsQueue;

  constructor(@Inject(CONFIG) config: GatewayConfig, @Inject(REDIS) redis: Redis) {
    this.runLog = new RunLog(redis);
    this.#queue = openRunsQueue(redis, { traces: config.otlpEndpoint !== undefined });
    this.#queue.on('error', (error) => log.debug('the runs queue answers with an error', { error }));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#queue.close();
  }

  /** `tag` is the place in the fair order, from `RunLog.admit`. */
  async add(job: RunJob, tag: number): Promise<void> {
    await this.#queue.add('run', job, { jobId: job.runId, priority: tag });
    // The run is accepted; that somebody may be told of a wait holds nobody up.
    this.runLog
      .announcePreparing(job.runId)
      .catch((error: unknown) => log.debug('a wait could not be told', { run: job.runId, error }));
  }

  /** True when the run was still waiting and will never start. */
  async remove(runId: string): Promise<boolean> {
    return (await this.#queue.remove(runId)) === 1;
  }

  /** Runs that wait for an executor. */
  async depth(): Promise<number> {
    const { prioritized = 0, waiting = 0 } = await this.#queue.getJobCounts('prioritized', 'waiting');
    return prioritized + waiting;
  }
}
