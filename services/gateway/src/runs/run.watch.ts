import type { RunOutcome, RunStreamEntry } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { TenantDb } from '../database/tenant-db.ts';
import { RunSettler } from './run.settler.ts';
import { FROM_START, RunStreams } from './run.streams.ts';
import { RunsStore } from './runs.store.ts';

/** Waits between attempts to store a verdict while the database is away, in milliseconds. */
const SETTLE_RETRY_MS = [100, 300, 1_000, 3_000];
/** After the outcome is known, its entry in the stream is at most this far behind. */
const LAST_ENTRY_MS = 1_000;

/** Waits for the ends of runs and has each settled, once a gateway however many readers there are. */
@Injectable()
export class RunWatch {
  readonly #watched = new Map<string, Promise<RunOutcome>>();

  constructor(
    @Inject(RunStreams) private readonly streams: RunStreams,
    @Inject(RunSettler) private readonly settler: RunSettler,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(RunsStore) private readonly store: RunsStore,
  ) {}

  /** A run that this gateway is starting: its verdict is stored whether anybody reads it or not. */
  own(tenantId: string, runId: string): void {
    this.#watch(tenantId, runId);
  }

  isOwn(runId: string): boolean {
    return this.#watched.has(runId);
  }

  /** The end of a run, wherever it was started; undefined for a run that is not there. The promise inside is not awaited. */
  async outcomeOf(tenantId: string, runId: string): Promise<{ outcome: Promise<RunOutcome> } | undefined> {
    const watched = this.#watched.get(runId);
    if (watched) return { outcome: watched };
    const row = await this.db.read(tenantId, (tx) => this.store.get(tx, runId));
    if (!row) return undefined;
    return { outcome: row.outcome ? Promise.resolve(row.outcome) : this.#watch(tenantId, runId) };
  }

  /** Entries of the run to `onEntry`, all of them before the outcome is answered. The result itself is the answer. */
  async relay(
    runId: string,
    outcome: Promise<RunOutcome>,
    onEntry: (entry: RunStreamEntry) => void,
    signal?: AbortSignal,
  ): Promise<RunOutcome> {
    const ended = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal?.reason);
    const stop = this.streams.follow(runId, FROM_START, ({ entry }) => {
      if (entry.type === 'result') ended.resolve();
      else onEntry(entry);
    });
    aborted.promise.catch(() => {});
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const answer = await Promise.race([outcome, aborted.promise]);
      const timer = setTimeout(ended.resolve, LAST_ENTRY_MS);
      await Promise.race([ended.promise, aborted.promise]);
      clearTimeout(timer);
      return answer;
    } finally {
      signal?.removeEventListener('abort', abort);
      stop();
    }
  }

  settle(tenantId: string, outcome: RunOutcome): Promise<RunOutcome> {
    return this.settler.settle(tenantId, outcome);
  }

  /** Stores the end of a run that could not be queued; nobody else knows of it. */
  async abandon(tenantId: string, outcome: RunOutcome): Promise<void> {
    this.#watched.delete(outcome.runId);
    await this.settler
      .settle(tenantId, outcome)
      .catch((error: unknown) => log.warn('a run that was not queued stays open', { run: outcome.runId, error }));
  }

  #watch(tenantId: string, runId: string): Promise<RunOutcome> {
    const known = this.#watched.get(runId);
    if (known) return known;
    const found = Promise.withResolvers<RunOutcome>();
    const stop = this.streams.follow(runId, FROM_START, ({ entry }) => {
      if (entry.type === 'result') found.resolve(entry.outcome);
    });
    const settled = found.promise
      .then((outcome) => {
        stop();
        return this.#settle(tenantId, outcome);
      })
      .finally(() => this.#watched.delete(runId));
    // Whoever waits gets the failure; without readers the sweep settles the run later.
    settled.catch((error: unknown) =>
      log.warn('a verdict could not be stored', { tenant: tenantId, run: runId, error }),
    );
    this.#watched.set(runId, settled);
    return settled;
  }

  async #settle(tenantId: string, outcome: RunOutcome): Promise<RunOutcome> {
    for (const wait of SETTLE_RETRY_MS) {
      try {
        return await this.settler.settle(tenantId, outcome);
      } catch (error) {
        log.warn('storing a verdict failed, trying again', { tenant: tenantId, run: outcome.runId, error });
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
    return this.settler.settle(tenantId, outcome);
  }
}
