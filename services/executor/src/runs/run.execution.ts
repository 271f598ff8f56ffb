import { randomBytes } from 'node:crypto';
import {
  type Failure,
  failedOutcome,
  type LinksClient,
  ownerMark,
  type PartialOutcome,
  type RunArtifact,
  type RunDisplay,
  type RunJob,
  type RunLog,
  type RunOutcome,
  type RunStreamEntry,
} from '@moli/queue';
import { log } from '@moli/telemetry';
import { metrics } from '../metrics.ts';
import {
  type ArtifactHead,
  type DisplayHead,
  type RunContent,
  type Runner,
  RunnerError,
  type RunReport,
  type RunSink,
} from '../runner/runner.ts';
import { ArtifactUploader } from './artifact.uploader.ts';
import { KeptOutput } from './kept-output.ts';
import { LiveOutput, type OutputStream } from './live-output.ts';
import { RunFailure } from './run.failure.ts';
import { StageSpans } from './stage.spans.ts';

export interface ExecutionDeps {
  readonly executorId: string;
  readonly runner: Runner;
  readonly runLog: RunLog;
  readonly links: LinksClient;
}

/** What ends a run from outside: a person, our own shutdown, or another process that took the run over. */
export type StopReason = 'cancelled' | 'executor_stopping' | 'lost';

/** One run from claim to verdict. Every effect is behind the fence that `claim` sets. */
export class RunExecution implements RunSink {
  readonly #job: RunJob;
  readonly #deps: ExecutionDeps;
  readonly #mark: string;
  readonly #stop = new AbortController();
  readonly #live: LiveOutput;
  readonly #kept = { stdout: new KeptOutput(), stderr: new KeptOutput() };
  readonly #uploader: ArtifactUploader;
  readonly #spans = new StageSpans();
  readonly #display: RunDisplay[] = [];
  readonly #artifacts: RunArtifact[] = [];
  #stopReason: StopReason | null = null;

  constructor(job: RunJob, deps: ExecutionDeps) {
    this.#job = job;
    this.#deps = deps;
    this.#mark = ownerMark(deps.executorId, randomBytes(8).toString('hex'));
    this.#live = new LiveOutput((entries) => this.#append(entries));
    this.#uploader = new ArtifactUploader(job, {
      links: deps.links,
      holds: () => deps.runLog.holds(job.runId, this.#mark),
    });
  }

  /** Ends the run from outside. The first reason stays. */
  stop(reason: StopReason): void {
    this.#stopReason ??= reason;
    this.#stop.abort();
  }

  /**
   * Runs the job and puts its result into the run's stream. Null: the run was or is somebody else's, and nothing was done or reported.
   * `tag` is the job's priority in the fair order.
   */
  async execute(tag: number): Promise<RunOutcome | null> {
    const claimedAt = Date.now();
    const { runId, acceptedAt } = this.#job;
    const { runLog, runner } = this.#deps;
    // A warm sandbox is there in milliseconds; only a wait is worth telling.
    const waits = runner.status().idle === 0;
    const claim = await runLog.claim(runId, this.#mark, tag, waits ? { type: 'stage', stage: 'preparing' } : undefined);
    if (claim === 'taken') return null;
    if (claim === 'cancelled') this.stop('cancelled');
    const outcome = await this.#outcome(Math.max(0, claimedAt - acceptedAt));
    const rest = await this.#live.rest().catch(() => []);
    await this.#uploader.discard();
    if (this.#stopReason === 'lost') return null;
    const reported = await runLog.finish(runId, this.#mark, rest, { type: 'result', outcome });
    this.#spans.end();
    if (!reported) return null;
    this.#count(outcome);
    return outcome;
  }

  started(stageMs: number): void {
    this.#spans.enter('stage', Date.now() - stageMs);
    this.#spans.enter('execute');
    metrics.inputBytes.inc(this.#job.files.reduce((sum, { bytes }) => sum + bytes, 0));
    this.#live.add({ type: 'stage', stage: 'running' });
  }

  output(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
    this.#kept[stream].push(bytes);
    return this.#live.push(stream, bytes);
  }

  display(head: DisplayHead, content: RunContent | null): void {
    const { mimeType, name, text, table } = head;
    const display: RunDisplay = {
      mimeType,
      ...(name ? { name } : {}),
      ...(text !== undefined ? { text } : {}),
      ...(table ? { table } : {}),
    };
    this.#display.push(display);
    if (!content) {
      this.#live.add({ type: 'display', display });
      return;
    }
    const artifact = { ...describe(head, content, name ?? 'figure'), shown: true };
    display.artifactId = artifact.id;
    this.#uploader.add(artifact, content, async () => {
      this.#artifacts.push(artifact);
      this.#live.add({ type: 'display', display, artifact });
    });
  }

  artifact(head: ArtifactHead, content: RunContent): void {
    const artifact = describe(head, content, head.name);
    this.#uploader.add(artifact, content, async () => {
      this.#artifacts.push(artifact);
    });
  }

  async #outcome(queueMs: number): Promise<RunOutcome> {
    const timings = { queueMs, claimMs: 0, stageMs: 0, runMs: 0, collectMs: 0 };
    if (this.#stopReason) return this.#failed(this.#stopReason, { timings });
    if (Date.now() > this.#job.startBefore) return this.#failed('expired', { timings });
    try {
      this.#spans.enter('claim');
      const report = await this.#run();
      const collectFrom = performance.now();
      this.#spans.enter('collect');
      await this.#collect(report);
      const collectMs = report.timings.collectMs + performance.now() - collectFrom;
      return this.#succeeded(report, { ...rounded(report.timings), queueMs, collectMs: round(collectMs) });
    } catch (error) {
      const failure = this.#failureOf(error);
      if (failure !== 'lost')
        log.error('a run failed on our side', { run: this.#job.runId, tenant: this.#job.tenantId, failure, error });
      return this.#failed(failure, { timings });
    }
  }

  #run(): Promise<RunReport> {
    const { runId, code, filename, limits, artifacts, files, locale, startBefore } = this.#job;
    const spec = { runId, code, filename, limits, artifacts, startBefore, files, ...(locale ? { locale } : {}) };
    return this.#deps.runner.run(spec, this, this.#stop.signal);
  }

  /** Everything made is in the store. */
  async #collect(report: RunReport): Promise<void> {
    if (this.#stopReason === 'cancelled' && report.verdict === 'cancelled') return;
    await this.#uploader.settled();
  }

  #succeeded(report: RunReport, timings: RunOutcome['timings']): RunOutcome {
    const reason = this.#stopReason;
    if (reason === 'executor_stopping' && report.verdict === 'cancelled')
      return this.#failed(reason, { timings, usage: report.usage });
    return {
      runId: this.#job.runId,
      verdict: report.verdict,
      exitCode: report.exitCode,
      signal: report.signal,
      ...this.#texts(report.truncated),
      ...this.#made(),
      skipped: report.skipped,
      error: report.error,
      limits: this.#job.limits,
      usage: report.usage,
      timings,
      runner: this.#deps.runner.name,
      sandbox: report.sandbox,
    };
  }

  #failed(reason: Failure | 'lost', partial: PartialOutcome): RunOutcome {
    const failure = reason === 'lost' ? 'executor_lost' : reason;
    if (failure !== 'cancelled') metrics.failures.inc({ reason: failure });
    const run = {
      runId: this.#job.runId,
      limits: this.#job.limits,
      runner: this.#deps.runner.name,
      sandbox: this.#deps.runner.status().sandbox,
    };
    return failedOutcome(run, failure, {
      ...this.#texts({ stdout: false, stderr: false }),
      ...this.#made(),
      ...partial,
    });
  }

  #texts(truncated: RunOutcome['truncated']): Pick<RunOutcome, 'stdout' | 'stderr' | 'raw' | 'truncated'> {
    const { stdout, stderr } = this.#kept;
    const raw: NonNullable<RunOutcome['raw']> = {};
    if (!this.#live.exact('stdout')) raw.stdout = stdout.bytes().toString('base64');
    if (!this.#live.exact('stderr')) raw.stderr = stderr.bytes().toString('base64');
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: { stdout: truncated.stdout || stdout.cut, stderr: truncated.stderr || stderr.cut },
      ...(raw.stdout !== undefined || raw.stderr !== undefined ? { raw } : {}),
    };
  }

  /** Only what is stored: a display whose image is not is left out. */
  #made(): Pick<RunOutcome, 'display' | 'artifacts'> {
    const stored = new Set(this.#artifacts.map(({ id }) => id));
    return {
      display: this.#display.filter(({ artifactId }) => artifactId === undefined || stored.has(artifactId)),
      artifacts: [...this.#artifacts],
    };
  }

  #failureOf(error: unknown): Failure | 'lost' {
    if (this.#stopReason) return this.#stopReason;
    if (error instanceof RunFailure) return error.failure;
    if (error instanceof RunnerError) return error.fault;
    return 'executor_lost';
  }

  async #append(entries: readonly RunStreamEntry[]): Promise<void> {
    if (this.#stopReason === 'lost') return;
    if (!(await this.#deps.runLog.append(this.#job.runId, this.#mark, entries))) this.stop('lost');
  }

  #count(outcome: RunOutcome): void {
    metrics.runs.inc({ verdict: outcome.verdict });
    for (const [name, ms] of Object.entries(outcome.timings)) {
      metrics.stageSeconds.observe({ stage: name.replace(/Ms$/, '') }, ms / 1_000);
    }
  }
}

function describe(
  head: { mimeType: string; width?: number; height?: number },
  { bytes, sha256 }: RunContent,
  name: string,
): RunArtifact {
  const { mimeType, width, height } = head;
  return {
    id: ArtifactUploader.newId(),
    name,
    mimeType,
    bytes,
    sha256,
    ...(width !== undefined ? { width } : {}),
    ...(height !== undefined ? { height } : {}),
  };
}

/** Tenths of a millisecond are all that is meant. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function rounded<T extends Record<string, number>>(timings: T): T {
  return Object.fromEntries(Object.entries(timings).map(([name, ms]) => [name, round(ms)])) as T;
}
