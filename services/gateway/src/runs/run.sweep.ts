import { DEFAULT_LIMITS, EXECUTOR_SILENT_MS, executorOf, type Failure, failedOutcome, type OpenRun } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { Database } from '../database/schema.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { Metrics } from '../metrics.ts';
import { LOG_DB } from '../tokens.ts';
import { RunQueue } from './run.queue.ts';
import { RunSettler } from './run.settler.ts';
import { RunsStore } from './runs.store.ts';

/** With the silence of a dead executor: a verdict within 8 s. */
const PERIOD_MS = 1_000;
/** Nobody asks for it any more, in milliseconds. */
const EXECUTOR_GONE_MS = 60_000;
/** The gateway that started a run settles it at once; after this long another one does. */
const UNSETTLED_MS = 3_000;
/** How often the table itself is looked at, for runs that Redis has forgotten. */
const TABLE_PERIOD_MS = 15_000;

/** Ends runs that nobody else will: their executor died, they waited too long, or the gateway that waited for them is gone. */
@Injectable()
export class RunSweep implements OnModuleInit, OnApplicationShutdown {
  readonly #unsettledSince = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #tableAt = 0;
  #working: Promise<void> = Promise.resolve();

  constructor(
    @Inject(LOG_DB) private readonly logDb: Kysely<Database>,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(RunsStore) private readonly store: RunsStore,
    @Inject(RunQueue) private readonly queue: RunQueue,
    @Inject(RunSettler) private readonly settler: RunSettler,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    this.#timer = setInterval(() => {
      this.#working = this.#sweep().catch((error: unknown) => log.warn('the sweep of runs failed', { error }));
    }, PERIOD_MS);
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#working;
  }

  async #sweep(): Promise<void> {
    const { runLog } = this.queue;
    if (!(await runLog.takeSweep(PERIOD_MS - 100))) return;
    this.metrics.queueDepth.set(await this.queue.depth());
    const open = await runLog.open();
    const executors = await runLog.executors();
    for (const [id, { ageMs }] of executors) if (ageMs > EXECUTOR_GONE_MS) await runLog.leave(id);
    const now = Date.now();
    for (const [runId] of this.#unsettledSince) {
      if (!open.some((run) => run.runId === runId)) this.#unsettledSince.delete(runId);
    }
    for (const run of open) {
      const executor = executorOf(run.owner);
      const age = executor ? executors.get(executor)?.ageMs : undefined;
      if (executor && (age === undefined || age > EXECUTOR_SILENT_MS)) await this.#end(run, 'executor_lost');
      else if (run.owner === null && now > run.deadline) await this.#end(run, 'expired');
      else if (run.owner === 'done' || run.owner === 'gateway') await this.#settleLate(run, now);
    }
    if (now - this.#tableAt > TABLE_PERIOD_MS) {
      this.#tableAt = now;
      await this.#sweepTable();
    }
  }

  /** Takes the run away from whoever had it and tells its readers. */
  async #end(run: OpenRun & { owner: string | null }, failure: Failure): Promise<void> {
    const outcome = failedOutcome(await this.#describe(run), failure);
    if (!(await this.queue.runLog.seize(run.runId, run.owner, { type: 'result', outcome }))) return;
    if (failure === 'expired') await this.queue.remove(run.runId);
    log.warn('a run was ended by the sweep', { tenant: run.tenantId, run: run.runId, failure });
    await this.settler.settle(run.tenantId, outcome);
  }

  async #settleLate(run: OpenRun, now: number): Promise<void> {
    const since = this.#unsettledSince.get(run.runId) ?? now;
    this.#unsettledSince.set(run.runId, since);
    if (now - since < UNSETTLED_MS) return;
    const last = await this.queue.runLog.last(run.runId);
    const outcome = last?.type === 'result' ? last.outcome : failedOutcome(await this.#describe(run), 'executor_lost');
    await this.settler.settle(run.tenantId, outcome);
  }

  async #sweepTable(): Promise<void> {
    const late = await this.logDb
      .selectFrom('runs')
      .select(['tenant_id', 'id'])
      .where('verdict', 'is', null)
      .where('deadline', '<', new Date())
      .limit(100)
      .execute();
    for (const { tenant_id: tenantId, id: runId } of late) {
      const last = await this.queue.runLog.last(runId);
      const run = await this.#describe({ tenantId, runId });
      await this.settler.settle(tenantId, last?.type === 'result' ? last.outcome : failedOutcome(run, 'executor_lost'));
    }
  }

  async #describe({ tenantId, runId }: { tenantId: string; runId: string }) {
    const row = await this.db.as(tenantId, (tx) => this.store.get(tx, runId));
    return { runId, limits: row?.spec.limits ?? DEFAULT_LIMITS, runner: 'none', sandbox: 'none' };
  }
}
