import { z } from 'zod';
import { ArtifactRef } from '../artifacts/artifacts.schema.ts';

export const ToolName = z.string().min(1).max(64);

export const OpenAiTools = z
  .array(
    z.object({
      type: z.literal('function'),
      function: z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
    }),
  )
  .meta({ id: 'OpenAiTools' });

/** One envelope for every tool, good or bad: `ok` is the tool's success, the HTTP status that of the request. */
export const ToolAnswer = z
  .object({
    ok: z.boolean(),
    content: z.string(),
    state: z.unknown().optional(),
    error: z
      .object({
        code: z.string(),
        message: z.string(),
        line: z.int().optional(),
        traceback: z.string().optional(),
        explanation: z.object({ zh: z.string(), en: z.string() }).optional(),
      })
      .optional(),
    artifacts: z.array(ArtifactRef),
    durationMs: z.number(),
    cached: z.boolean(),
    runId: z.string().optional(),
  })
  .meta({ id: 'ToolAnswer' });
export type ToolAnswer = z.infer<typeof ToolAnswer>;

export const ExecuteQuery = z.strictObject({
  sessionId: z
    .string()
    .regex(/^ses_[0-9a-f]{32}$/, 'not a session id')
    .optional(),
});
export type ExecuteQuery = z.infer<typeof ExecuteQuery>;
