import { z } from 'zod';

export const Live = z.object({ status: z.literal('ok') }).meta({ id: 'Live' });

const dependency = z.object({ ok: z.boolean(), detail: z.string().optional() });

export const Ready = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    dependencies: z.object({ postgres: dependency, redis: dependency, objects: dependency, schema: dependency }),
    schema: z.object({ wanted: z.string(), found: z.string().nullable() }),
  })
  .meta({ id: 'Ready' });
export type Ready = z.infer<typeof Ready>;

export const Version = z
  .object({
    version: z.string(),
    commit: z.string(),
    runner: z.string().nullable().describe('Kind of runner of the living executors; null when there is none'),
    sandbox: z.string().nullable().describe('Weakest sandbox strength that a living executor reports'),
    objectStore: z.string(),
    vectorStore: z.string().nullable(),
  })
  .meta({ id: 'Version' });
export type Version = z.infer<typeof Version>;

/** What an executor writes of itself into the Redis hash `moli:executors`, field = its id. */
export const ExecutorReport = z.object({
  runner: z.string(),
  sandbox: z.string(),
  slots: z.int().optional(),
  idle: z.int().optional(),
  /** Milliseconds since the epoch. */
  seenAt: z.number(),
});
