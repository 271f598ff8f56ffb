import type { ObjectStore } from '@moli/objects';
import type { RunOutcome } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { ArtifactsStore } from '../artifacts/artifacts.store.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { Metrics } from '../metrics.ts';
import { OBJECTS } from '../tokens.ts';
import { RunQueue } from './run.queue.ts';
import { RunsStore } from './runs.store.ts';

/** Writes each run's verdict once, whoever brings it. */
@Injectable()
export class RunSettler {
  readonly #underWay = new Map<string, Promise<RunOutcome>>();

  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(RunsStore) private readonly store: RunsStore,
    @Inject(ArtifactsStore) private readonly artifacts: ArtifactsStore,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(RunQueue) private readonly queue: RunQueue,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  /** Stores the outcome unless the run has one, and answers the one that stands. */
  settle(tenantId: string, outcome: RunOutcome): Promise<RunOutcome> {
    const running = this.#underWay.get(outcome.runId);
    if (running) return running;
    const settled = this.#settle(tenantId, outcome).finally(() => this.#underWay.delete(outcome.runId));
    this.#underWay.set(outcome.runId, settled);
    return settled;
  }

  async #settle(tenantId: string, outcome: RunOutcome): Promise<RunOutcome> {
    const { runId, verdict, artifacts } = outcome;
    // Without artifacts in a run that the sandbox ended, there are no rows to look for.
    const tidy = artifacts.length > 0 || verdict === 'platform_error' || verdict === 'cancelled';
    const { mine, unnamed } = await this.db.as(tenantId, async (tx) => {
      const settling = this.store.settle(tx, outcome);
      const [rows] = tidy ? [await settling.execute()] : await tx.finish([settling]);
      if (rows.length === 0) return { mine: false, unnamed: [] };
      const ids = artifacts.map(({ id }) => id);
      return { mine: true, unnamed: tidy ? await this.artifacts.keepOnly(tx, runId, ids) : [] };
    });
    this.#afterwards(tenantId, outcome, unnamed);
    if (!mine) return (await this.db.read(tenantId, (tx) => this.store.get(tx, runId)))?.outcome ?? outcome;
    this.metrics.runs.inc({ verdict });
    for (const [name, ms] of Object.entries(outcome.timings)) {
      this.metrics.runStageSeconds.observe({ stage: name.replace(/Ms$/, '') }, ms / 1_000);
    }
    return outcome;
  }

  /** Nobody waits for this; what fails here is found again by the sweep. */
  #afterwards(tenantId: string, { runId, verdict }: RunOutcome, unnamed: readonly string[]): void {
    this.queue.runLog.release(tenantId, runId).catch(() => {});
    for (const key of unnamed) {
      this.objects
        .delete(key)
        .catch((error: unknown) => log.warn('an object of a failed run stays', { run: runId, error }));
    }
    log.info('run settled', { tenant: tenantId, run: runId, verdict });
  }
}
