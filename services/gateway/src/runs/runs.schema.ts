import { type RunLimits, RunOutcome, Verdict } from '@moli/queue';
import { z } from 'zod';
import { ArtifactRef } from '../artifacts/artifacts.schema.ts';
import { isId } from '../ids.ts';

const MIB = 1024 * 1024;

export const RunId = z.string().refine((id) => isId('run', id), { error: 'not a run id' });
const SessionId = z.string().refine((id) => isId('ses', id), { error: 'not a session id' });

/** Bounds of what a caller may ask for; seconds and bytes. */
const AskedLimits = z.strictObject({
  wallSeconds: z.number().min(0.1).max(300).optional(),
  cpuSeconds: z.number().min(0.1).max(600).optional(),
  memoryBytes: z
    .int()
    .min(32 * MIB)
    .max(2048 * MIB)
    .optional(),
  pids: z.int().min(1).max(256).optional(),
  diskBytes: z
    .int()
    .min(MIB)
    .max(1024 * MIB)
    .optional(),
  outputBytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .optional(),
});

const FileReference = z
  .strictObject({
    id: z.string().max(100).optional(),
    token: z.string().max(2_000).optional(),
    name: z.string().max(1_000).optional(),
  })
  .refine((file) => (file.id === undefined) !== (file.token === undefined), { error: 'give either id or token' });

/** Body of `POST /v1/code/execute`. */
export const ExecuteRequest = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(512 * 1024),
    files: z.array(FileReference).max(100).optional(),
    filename: z.string().min(1).max(200).optional(),
    limits: AskedLimits.optional(),
    sessionId: SessionId.optional(),
    idempotencyKey: z.string().min(1).max(200).optional(),
  })
  .meta({ id: 'ExecuteRequest' });
export type ExecuteRequest = z.infer<typeof ExecuteRequest>;

/** The coarse word that plain callers test. */
export const RunType = z.enum(['ok', 'error', 'timeout', 'memory', 'limit', 'cancelled', 'rejected', 'platform']);
export type RunType = z.infer<typeof RunType>;

const ResultArtifact = ArtifactRef.extend({
  url: z.string().describe('Signed link, good for an hour'),
  base64: z.string().optional().describe('Content of images up to 256 KiB'),
});

/** How a run ended; the same for every program, whatever it did. */
export const RunResult = RunOutcome.extend({
  runId: RunId,
  state: z.literal('finished'),
  success: z.boolean(),
  type: RunType,
  artifacts: z.array(ResultArtifact),
}).meta({ id: 'RunResult' });
export type RunResult = z.infer<typeof RunResult>;

/** A run that has no verdict yet. */
export const RunPending = z
  .object({ runId: RunId, state: z.enum(['queued', 'running']), createdAt: z.iso.datetime() })
  .meta({ id: 'RunPending' });
export type RunPending = z.infer<typeof RunPending>;

export const RunAccepted = z.object({ runId: RunId }).meta({ id: 'RunAccepted' });

/** One line of a list. */
export const RunSummary = z
  .object({
    runId: RunId,
    state: z.enum(['open', 'finished']),
    verdict: Verdict.nullable(),
    type: RunType.nullable(),
    sessionId: z.string().nullable(),
    rerunOf: z.string().nullable(),
    createdAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'RunSummary' });
export type RunSummary = z.infer<typeof RunSummary>;

export const RunList = z
  .object({ items: z.array(RunSummary), nextCursor: z.string().nullable() })
  .meta({ id: 'RunList' });
export const RunQuery = z.strictObject({
  sessionId: SessionId.optional(),
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

/** Code, inputs and limits of a run as its row keeps them; `rerun` starts from this. */
export interface StoredSpec {
  code: string;
  filename: string;
  limits: RunLimits;
  files: { id: string; name: string; bytes: number; sha256: string; objectKey: string }[];
}
