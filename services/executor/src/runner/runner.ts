import type { RunLimits, RunOutcome, RunTable, Verdict } from '@moli/queue';
import type { z } from 'zod';

/** An input file by its signed link. What is behind the link is compared with size and digest before the program starts. */
export interface RunInput {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly url: string;
}

/** Everything a sandbox is told about a run: plain data, so that it can be sent to wherever the sandbox is. */
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

/** A display as the sandbox announces it. With `bytes`, it has a content (an image). */
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

/** Where one artifact goes: a link that writes it once, with the headers that its signature covers, and a link that reads it. */
export interface ContentLink {
  readonly putUrl: string;
  readonly putHeaders: Readonly<Record<string, string>>;
  readonly getUrl: string;
}

/**
 * Bytes that a run made and that wait to be stored, at the place where the sandbox is: they never pass through the owner of the sink. The
 * sandbox of a run is kept until each of its contents was dropped.
 */
export interface RunContent {
  readonly bytes: number;
  readonly sha256: string;
  /** Writes the bytes to the link, reads them back and compares. Throws when they are not there; the message holds no link. */
  store(link: ContentLink): Promise<void>;
  /** Gives memory or disk back; must be called once for each content, stored or not. */
  drop(): Promise<void>;
}

/**
 * Where a run's output goes, in the order it appeared. A promise that is not yet settled holds the sandbox back. Whatever a sink throws ends
 * the run and comes out of `Runner.run`.
 */
export interface RunSink {
  /** The input files are in place, which took `stageMs`, and user code begins. */
  started(stageMs: number): void;
  output(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> | void;
  /** `content` is there where `head.bytes` is. */
  display(head: DisplayHead, content: RunContent | null): Promise<void> | void;
  artifact(head: ArtifactHead, content: RunContent): Promise<void> | void;
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
  /** No sandbox is idle and one is being made, so that whoever asks now waits for it. */
  readonly preparing: boolean;
}

/** Why a run has no report. The run's code may have run in part with `sandbox_lost`, and never began with the others. */
export type RunnerFault = 'sandbox_unavailable' | 'sandbox_lost' | 'input_unavailable' | 'input_altered';

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
 * A program that fails is a report; only a sandbox or an input that fails is a RunnerError.
 */
export interface Runner {
  /** `local` or `kubernetes`. */
  readonly name: string;
  /** How many runs it can hold now, those that are on included. May change; see `onChange`. */
  readonly slots: number;
  /** Called whenever `slots` or the number of idle ones may have changed. */
  onChange(listener: () => void): void;
  start(): Promise<void>;
  status(): RunnerStatus;
  /** An aborted signal ends the program within half a second, with verdict `cancelled`. */
  run(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<RunReport>;
  /** Takes no new sandbox; runs that are on go on. Idle sandboxes that others can use are left to them. */
  drain(): void;
  /** Ends every sandbox that is ours and returns when none is left. */
  close(): Promise<void>;
}

/** A sandbox that breaks before user code begins is replaced by another one this many times. */
export const MAX_SANDBOXES_TRIED = 3;

/** The sandbox was cut off by a cancel, or none was taken yet: there is no report, and none is needed. */
export function cancelledBeforeStart(ms: number, sandbox: string): RunReport {
  return {
    verdict: 'cancelled',
    exitCode: null,
    signal: null,
    error: null,
    truncated: { stdout: false, stderr: false },
    skipped: [],
    usage: { wallMs: ms, cpuMs: 0, maxMemoryBytes: 0, outputBytes: 0 },
    timings: { claimMs: 0, stageMs: 0, runMs: ms, collectMs: 0 },
    sandbox,
  };
}
