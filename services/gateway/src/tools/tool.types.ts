import type { RunOutcome, RunStreamEntry } from '@moli/queue';
import type { Caller } from '../identity/caller.ts';
import type { ModelTool } from '../models/provider.types.ts';

export type ToolPermission = 'read_file' | 'write_file' | 'run_command' | 'network';

/** What a tool is: the one place from which every outside form is derived. */
export interface ToolDefinition extends ModelTool {
  /** Other names it answers to; never offered, only understood. */
  readonly aliases?: readonly string[];
  readonly kind: 'builtin';
  readonly permissions: readonly ToolPermission[];
  readonly flags: {
    /** The same arguments give the same result within a session. */
    readonly cacheable: boolean;
    /** Calling it twice does something twice. */
    readonly sideEffects: boolean;
    readonly highRisk: boolean;
    /** Seconds until the call is given up, waiting included. */
    readonly timeoutSeconds: number;
  };
  /** The one argument that is program text: a model that sends bare code in place of JSON meant this one. */
  readonly codeArgument?: string;
  /** Works only inside a session. */
  readonly needsSession?: boolean;
  handler(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutput>;
}

/** What a handler knows of the call besides its arguments. */
export interface ToolContext {
  readonly caller: Caller;
  readonly sessionId?: string | undefined;
  readonly turnId?: string | undefined;
  readonly callId: string;
  /** Aborts when the caller stops or the tool's time is over. */
  readonly signal: AbortSignal;
  readonly onRunEntry?: ((entry: RunStreamEntry) => void) | undefined;
  /** Told as soon as the call has a run. */
  readonly onRun?: ((runId: string) => void) | undefined;
}

/** A file that a call made; its bytes are at `GET /v1/artifacts/{id}/content`. */
export interface ToolArtifact {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** One fault in the arguments, for programs: where (JSON pointer) and what, in English. */
export interface ArgumentIssue {
  readonly path: string;
  readonly message: string;
}

export interface ToolError {
  /** A code of the error table, or the verdict of a run. */
  readonly code: string;
  readonly message: string;
  /** With `bad_arguments`: each fault. */
  readonly issues?: readonly ArgumentIssue[];
  readonly line?: number;
  readonly traceback?: string;
  readonly explanation?: { readonly zh: string; readonly en: string };
}

/** What a handler gives back. `error` set means the tool failed although the call went well. */
export interface ToolOutput {
  /** What the model reads: bounded text, never bytes of a file. */
  readonly content: string;
  /** For programs: the same facts as data. */
  readonly state?: unknown;
  readonly error?: ToolError | undefined;
  readonly artifacts?: readonly ToolArtifact[];
  readonly runId?: string;
  readonly outcome?: RunOutcome;
}

/** The one envelope of every call, good or bad. */
export interface ToolResult {
  readonly ok: boolean;
  readonly content: string;
  readonly state?: unknown;
  readonly error?: ToolError;
  readonly artifacts: readonly ToolArtifact[];
  readonly durationMs: number;
  readonly cached: boolean;
  readonly runId?: string;
  readonly outcome?: RunOutcome;
  /** The arguments as the handler got them; absent when they could not be used. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}
