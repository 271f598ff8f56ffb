import type { ObjectStore } from '@moli/objects';
import { failedOutcome, type RunOutcome, type RunStreamEntry } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { FileReference } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import { OBJECTS } from '../tokens.ts';
import { RunAccess } from './run.access.ts';
import { RunInputs } from './run.inputs.ts';
import {
  COLLECT_WAIT_MS,
  limitsOf,
  MAX_ARTIFACT_BYTES,
  MAX_ARTIFACTS,
  QUEUE_WAIT_MS,
  RunBounds,
} from './run.limits.ts';
import { RunQueue } from './run.queue.ts';
import { toResult } from './run.result.ts';
import { RunWatch } from './run.watch.ts';
import { notQueued, otherRequest, queueFull, runNotFound, shareFull } from './runs.errors.ts';
import type { ExecuteRequest, RunPending, RunResult, StoredSpec } from './runs.schema.ts';
import { type RunRow, RunsStore } from './runs.store.ts';

/** What starts a run. `files` undefined with a session: its uploads and the files of its earlier runs. */
export interface RunRequest {
  readonly code: string;
  readonly filename?: string;
  readonly files?: readonly FileReference[];
  readonly limits?: ExecuteRequest['limits'];
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly callId?: string;
  readonly idempotencyKey?: string;
  readonly rerunOf?: string;
  /** The answer is sent before the verdict: the row has to be on disk by then. */
  readonly durable?: boolean;
}

const DEFAULT_FILENAME = 'main.py';
/** Deleting a session waits this long for its runs to end. */
const CANCEL_WAIT_MS = 3_000;

/** Runs from request to verdict. */
@Injectable()
export class RunsService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(RunsStore) private readonly store: RunsStore,
    @Inject(RunAccess) private readonly access: RunAccess,
    @Inject(RunInputs) private readonly inputs: RunInputs,
    @Inject(RunQueue) private readonly queue: RunQueue,
    @Inject(RunWatch) private readonly watch: RunWatch,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(RunBounds) private readonly bounds: RunBounds,
  ) {}

  /**
   * Accepts a run: row, audit row and job. The same idempotency key answers the same run. Errors: `queue_full`, `not_found`, `conflict`,
   * `invalid_name`, `link_invalid`, `unavailable`.
   */
  async start(caller: Caller, request: RunRequest): Promise<{ runId: string }> {
    const limits = limitsOf(request.limits);
    const files = await this.inputs.resolve(caller, request, limits);
    return this.#begin(caller, request, {
      code: request.code,
      filename: request.filename ?? DEFAULT_FILENAME,
      limits,
      files,
    });
  }

  /** The same code on the same files with the same limits, as a new run. Errors: as `start`. */
  async rerun(caller: Caller, runId: string, durable: boolean): Promise<{ runId: string }> {
    const row = await this.access.visible(caller, runId);
    const sessionId = row.session_id ?? undefined;
    return this.#begin(caller, { code: row.spec.code, sessionId, rerunOf: runId, durable }, row.spec);
  }

  /**
   * Calls `onEntry` with everything that the run does from its beginning, and answers its final outcome; that is settled even when the executor or
   * the gateway that started it died. An aborted signal ends the following, not the run. Errors: `not_found`.
   */
  async follow(
    tenantId: string,
    runId: string,
    onEntry: (entry: RunStreamEntry) => void,
    signal?: AbortSignal,
  ): Promise<RunOutcome> {
    const settled = await this.watch.outcomeOf(tenantId, runId);
    if (!settled) throw runNotFound();
    return this.watch.relay(runId, settled.outcome, onEntry, signal);
  }

  /** Ends a run: at once when it waits, within half a second when it runs. A finished run stays as it is. Errors: `not_found`. */
  async cancel(caller: Caller, runId: string): Promise<void> {
    const row = await this.access.visible(caller, runId);
    if (row.verdict !== null) return;
    await this.db.as(caller.tenantId, async (tx) => {
      await this.store.requestCancel(tx, runId);
      await this.audit.append(tx, caller, { action: 'run.cancel', target: runId, outcome: 'ok' });
    });
    await this.#stop(caller.tenantId, row);
  }

  /** Outcome with links, or how far the run is. Errors: `not_found`. */
  async state(caller: Caller, runId: string): Promise<RunResult | RunPending> {
    const row = await this.access.visible(caller, runId);
    if (row.outcome) return toResult(this.objects, caller.tenantId, row.outcome);
    const owner = await this.queue.runLog.owner(runId);
    return { runId, state: owner === null ? 'queued' : 'running', createdAt: row.created_at.toISOString() };
  }

  /** Waits for the end and answers the result with links. Errors: `not_found`. */
  async result(caller: Caller, runId: string, signal?: AbortSignal): Promise<RunResult> {
    if (!this.watch.isOwn(runId)) await this.access.visible(caller, runId);
    return this.present(caller.tenantId, await this.ended(caller.tenantId, runId, signal));
  }

  /** The final, stored outcome, without what happened before it. An aborted signal ends the waiting, not the run. Errors: `not_found`. */
  async ended(tenantId: string, runId: string, signal?: AbortSignal): Promise<RunOutcome> {
    const found = await this.watch.outcomeOf(tenantId, runId);
    if (!found) throw runNotFound();
    return orAborted(found.outcome, signal);
  }

  /** An outcome with links. */
  async present(tenantId: string, outcome: RunOutcome): Promise<RunResult> {
    return toResult(this.objects, tenantId, outcome);
  }

  /** Ends every run of a session and waits, for a few seconds, until they are over. */
  async cancelSession(tenantId: string, sessionId: string): Promise<void> {
    const open = await this.db.as(tenantId, (tx) => this.store.openOfSession(tx, sessionId));
    const signal = AbortSignal.timeout(CANCEL_WAIT_MS);
    await Promise.all(
      open.map(async (runId) => {
        const row = await this.db.as(tenantId, (tx) => this.store.get(tx, runId));
        if (!row) return;
        await this.#stop(tenantId, row);
        await this.ended(tenantId, runId, signal).catch((error: unknown) =>
          log.warn('a run of a deleted session has not ended yet', { tenant: tenantId, run: runId, error }),
        );
      }),
    );
  }

  async #begin(caller: Caller, request: RunRequest, spec: StoredSpec): Promise<{ runId: string }> {
    const runId = newId('run');
    const { tenantId } = caller;
    const acceptedAt = Date.now();
    const startBefore = acceptedAt + QUEUE_WAIT_MS;
    const { runLog } = this.queue;
    const admission = await runLog.admit({ tenantId, runId, deadline: startBefore }, this.bounds.maxOpen);
    if (!admission.admitted) {
      throw admission.by === 'tenant' ? shareFull(admission.open) : queueFull(this.bounds.maxOpen, admission.open);
    }
    try {
      const deadline = new Date(startBefore + spec.limits.wallSeconds * 1_000 + COLLECT_WAIT_MS);
      const inserted = await this.db.as(tenantId, (tx) => this.#insert(tx, caller, runId, request, spec, deadline));
      if (!inserted) {
        await runLog.release(tenantId, runId);
        return await this.#earlier(caller, request);
      }
    } catch (error) {
      await runLog.release(tenantId, runId).catch(() => {});
      throw error;
    }
    await this.#enqueue(caller, runId, request, spec, { acceptedAt, startBefore, tag: admission.tag });
    return { runId };
  }

  async #insert(
    tx: TenantTx,
    caller: Caller,
    runId: string,
    request: RunRequest,
    spec: StoredSpec,
    deadline: Date,
  ): Promise<boolean> {
    const unflushed = request.durable ? undefined : this.store.commitWithoutFlush(tx);
    const inserting = this.store.insert(tx, {
      id: runId,
      sessionId: request.sessionId ?? null,
      turnId: request.turnId ?? null,
      callId: request.callId ?? null,
      userId: caller.userId,
      idempotencyKey: request.idempotencyKey ?? null,
      rerunOf: request.rerunOf ?? null,
      spec,
      deadline,
    });
    const [inserted] = await Promise.all([inserting, unflushed]);
    if (!inserted) return false;
    const detail = { codeBytes: Buffer.byteLength(spec.code), files: spec.files.map(({ id }) => id) };
    await tx.finish([this.audit.statement(tx, caller, { action: 'run.start', target: runId, outcome: 'ok', detail })]);
    return true;
  }

  /** The run that the idempotency key already stands for. */
  async #earlier(caller: Caller, request: RunRequest): Promise<{ runId: string }> {
    const key = request.idempotencyKey;
    const row = key ? await this.db.as(caller.tenantId, (tx) => this.store.byIdempotencyKey(tx, key)) : undefined;
    if (!row) throw runNotFound();
    await this.access.check(caller, row);
    if (row.spec.code !== request.code) throw otherRequest();
    return { runId: row.id };
  }

  async #enqueue(
    caller: Caller,
    runId: string,
    request: RunRequest,
    spec: StoredSpec,
    times: { acceptedAt: number; startBefore: number; tag: number },
  ): Promise<void> {
    const { tenantId, locale } = caller;
    const { code, filename, limits } = spec;
    const { acceptedAt, startBefore, tag } = times;
    this.watch.own(tenantId, runId);
    try {
      const files = await this.inputs.sign(spec.files, startBefore);
      const artifacts = { maxBytes: MAX_ARTIFACT_BYTES, maxCount: MAX_ARTIFACTS };
      const session = request.sessionId ? { sessionId: request.sessionId } : {};
      await this.queue.add(
        { runId, tenantId, ...session, code, filename, limits, files, artifacts, acceptedAt, startBefore, locale },
        tag,
      );
    } catch (error) {
      const outcome = failedOutcome({ runId, limits, runner: 'none', sandbox: 'none' }, 'expired');
      await this.watch.abandon(tenantId, outcome);
      throw notQueued(error);
    }
  }

  async #stop(tenantId: string, row: RunRow): Promise<void> {
    const { runLog } = this.queue;
    await runLog.requestCancel(row.id);
    if (!(await this.queue.remove(row.id))) return;
    const outcome = failedOutcome(
      { runId: row.id, limits: row.spec.limits, runner: 'none', sandbox: 'none' },
      'cancelled',
    );
    await runLog.seize(row.id, null, { type: 'result', outcome });
    await this.watch.settle(tenantId, outcome);
  }
}

/** The promise, or the signal's reason when that comes first. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
