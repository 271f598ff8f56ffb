import { z } from 'zod';

/** Every verdict a run can end with; the exact words of the public API. */
export const VERDICTS = [
  'ok',
  'user_error',
  'timeout_wall',
  'timeout_cpu',
  'memory_limit',
  'pids_limit',
  'disk_limit',
  'output_limit',
  'signalled',
  'cancelled',
  'queue_rejected',
  'platform_error',
] as const;
export const Verdict = z.enum(VERDICTS);
export type Verdict = z.infer<typeof Verdict>;

export const RunLimits = z.object({
  wallSeconds: z.number().positive(),
  cpuSeconds: z.number().positive(),
  memoryBytes: z.int().positive(),
  pids: z.int().positive(),
  diskBytes: z.int().positive(),
  outputBytes: z.int().positive(),
});
export type RunLimits = z.infer<typeof RunLimits>;

/** Limits of a run when the caller names none (30 s and 512 MiB are promises of the API). */
export const DEFAULT_LIMITS: RunLimits = {
  wallSeconds: 30,
  cpuSeconds: 30,
  memoryBytes: 512 * 1024 * 1024,
  pids: 64,
  diskBytes: 100 * 1024 * 1024,
  outputBytes: 1024 * 1024,
};

/** A job of the `runs` queue. `jobId` is the run id; nothing in it gives access to more than the files it names. */
export const RunJob = z.object({
  runId: z.string(),
  tenantId: z.string(),
  sessionId: z.string().optional(),
  code: z.string(),
  filename: z.string(),
  limits: RunLimits,
  /** Inputs by the name they get in the work folder, each fetched once by its signed link. */
  files: z.array(z.object({ name: z.string(), bytes: z.int(), sha256: z.string(), url: z.string() })),
  /** Bound on what one run may leave behind. */
  artifacts: z.object({ maxBytes: z.int(), maxCount: z.int() }),
  /** Milliseconds since the epoch when the gateway accepted the run; start of `queueMs`. */
  acceptedAt: z.number(),
  /** After this moment (epoch ms) the run is not started any more. */
  startBefore: z.number(),
  locale: z.enum(['zh', 'en']).optional(),
});
export type RunJob = z.infer<typeof RunJob>;

const explanation = z.object({ zh: z.string(), en: z.string() });

export const RunArtifact = z.object({
  id: z.string(),
  name: z.string(),
  mimeType: z.string(),
  bytes: z.int(),
  sha256: z.string(),
  width: z.int().optional(),
  height: z.int().optional(),
  /** Made by showing a figure, not a file of the work folder; later runs do not find it among their files. */
  shown: z.boolean().optional(),
});
export type RunArtifact = z.infer<typeof RunArtifact>;

export const RunTable = z.object({
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))),
  totalRows: z.int(),
  totalColumns: z.int(),
});

export const RunDisplay = z.object({
  mimeType: z.string(),
  /** Title of a figure or name of a value, when it has one. */
  name: z.string().optional(),
  text: z.string().optional(),
  table: RunTable.optional(),
  artifactId: z.string().optional(),
});
export type RunDisplay = z.infer<typeof RunDisplay>;

/** What the executor answers: the `result` entry of the run's stream, always the last one. */
export const RunOutcome = z.object({
  runId: z.string(),
  verdict: Verdict,
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.object({ stdout: z.boolean(), stderr: z.boolean() }),
  /** The exact bytes (base64) of a stream that is not UTF-8; in the text its bad bytes are shown as `\\xNN`. */
  raw: z.object({ stdout: z.string().optional(), stderr: z.string().optional() }).optional(),
  display: z.array(RunDisplay),
  /** Uploaded and read back; `RunDisplay.artifactId` points here. */
  artifacts: z.array(RunArtifact),
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
  error: z
    .object({ name: z.string(), message: z.string(), line: z.int().nullable(), traceback: z.string(), explanation })
    .nullable(),
  limits: RunLimits,
  usage: z.object({ wallMs: z.number(), cpuMs: z.number(), maxMemoryBytes: z.number(), outputBytes: z.number() }),
  timings: z.object({
    queueMs: z.number(),
    claimMs: z.number(),
    stageMs: z.number(),
    runMs: z.number(),
    collectMs: z.number(),
  }),
  runner: z.string(),
  sandbox: z.string(),
});
export type RunOutcome = z.infer<typeof RunOutcome>;

/** Entries of the Redis Stream `run:{runId}:events`, field `entry` = JSON. Live output; the log of a session copies what it shows. */
export const RunStreamEntry = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stage'), stage: z.enum(['preparing', 'running', 'collecting']) }),
  z.object({ type: z.literal('output'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z.object({ type: z.literal('display'), display: RunDisplay, artifact: RunArtifact.optional() }),
  z.object({ type: z.literal('result'), outcome: RunOutcome }),
]);
export type RunStreamEntry = z.infer<typeof RunStreamEntry>;

/**
 * A job of the `links` queue, taken by any gateway: the executor asks for upload links after the run, when size and hash are known.
 * Answer: one single-use link an artifact, in the same order, bound to key, size and hash.
 */
export const LinkRequest = z.object({ runId: z.string(), tenantId: z.string(), artifacts: z.array(RunArtifact) });
export type LinkRequest = z.infer<typeof LinkRequest>;
export const LinkAnswer = z.object({
  links: z.array(
    z.object({
      artifactId: z.string(),
      putUrl: z.string(),
      /** Sent with the PUT as they are; the signature covers them. */
      putHeaders: z.record(z.string(), z.string()),
      getUrl: z.string(),
    }),
  ),
});
export type LinkAnswer = z.infer<typeof LinkAnswer>;
