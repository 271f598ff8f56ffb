import type { RunLimits, RunOutcome, RunTable, Verdict } from '@moli/queue';
import type { z } from 'zod';

/** An input file: its bytes are delivered once, in order, and end in an error when they are not what was promised. */
export interface RunInput {
  readonly name: string;
  readonly bytes: number;
  open(): AsyncIterable<Uint8Array>;
}

/** Everything a sandbox is told about a run. */
export interface RunSpec {
  readonly runId: string;
  readonly code: string;
  readonly filename: string;
  readonly limits: RunLimits;
  /** Bounds on what the run may leave behind. */
  readonly artifacts: { readonly maxBytes: number; readonly maxCount: number };
  readonly files: readonly RunInput[];
  readonly locale?: 'zh' | 'en';
  /** Epoch ms: a sandbox that is free only later is not used any more. */
  readonly startBefore: number;
}

/** A display as the sandbox announces it. With `bytes`, its body follows (an image). */
export interface DisplayHead {
  readonly mimeType: string;
  readonly name?: string;
  readonly text?: string;
  readonly bytes?: number;
  readonly width?: number;
  readonly height?: number;
  readonly table?: z.infer<typeof RunTable>;
}

export interface ArtifactHead {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly mimeType: string;
  readonly width?: number;
  readonly height?: number;
}

/**
 * Where a run's output goes, in the order it appeared. A promise that is not yet settled holds the sandbox back. Whatever a sink throws ends
 * the run and comes out of `Runner.run`.
 */
export interface RunSink {
  /** The input files are in place, which took `stageMs`, and user code begins. */
  started(stageMs: number): void;
  output(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> | void;
  /** `body` delivers exactly `head.bytes` bytes and must be read before the promise settles. */
  display(head: DisplayHead, body: AsyncIterable<Uint8Array> | null): Promise<void>;
  artifact(head: ArtifactHead, body: AsyncIterable<Uint8Array>): Promise<void>;
}

/** How the sandbox saw the run. Times are milliseconds. */
export interface RunReport {
  readonly verdict: Exclude<Verdict, 'queue_rejected'>;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly error: RunOutcome['error'];
  readonly truncated: RunOutcome['truncated'];
  readonly skipped: RunOutcome['skipped'];
  readonly usage: RunOutcome['usage'];
  readonly timings: {
    readonly claimMs: number;
    readonly stageMs: number;
    readonly runMs: number;
    readonly collectMs: number;
  };
  /** The isolation that held this run, such as `userns+landlock+seccomp`. */
  readonly sandbox: string;
}

export interface RunnerStatus {
  readonly ready: boolean;
  /** Why not, for an operator; never shown to users. */
  readonly reason?: string;
  readonly sandbox: string;
  readonly slots: number;
  readonly idle: number;
}

/** Why a run has no report. The run's code may have run in part with `sandbox_lost`, and never began with the others. */
export type RunnerFault = 'sandbox_unavailable' | 'sandbox_lost';

export class RunnerError extends Error {
  override readonly name = 'RunnerError';
  readonly fault: RunnerFault;
  constructor(fault: RunnerFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/**
 * Runs untrusted programs, each in a sandbox that is used once. Two runners implement it and both pass `runnerContract`.
 * A program that fails is a report; only a sandbox that fails is a RunnerError.
 */
export interface Runner {
  /** `local` or `kubernetes`. */
  readonly name: string;
  /** How many runs it can hold at once. */
  readonly slots: number;
  start(): void;
  status(): RunnerStatus;
  /** An aborted signal ends the program within half a second, with verdict `cancelled`. */
  run(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<RunReport>;
  /** Ends every sandbox and returns when none is left. */
  close(): Promise<void>;
}
