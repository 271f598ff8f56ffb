import * as z from 'zod';

/** What a slot says, as `sandbox/PROTOCOL.md` has it. All of it can come from a monitor that user code has broken: nothing is believed. */

const text = z.string();
const ms = z.number().nonnegative();

export const Started = z.object({ stageMs: ms });

export const Display = z.object({
  mimeType: text.max(200),
  name: text.max(1_000).nullish(),
  text: text.nullish(),
  bytes: z.int().nonnegative().nullish(),
  width: z.int().nullish(),
  height: z.int().nullish(),
  table: z
    .object({
      columns: z.array(z.object({ name: text, type: text })),
      rows: z.array(z.array(z.union([text, z.number(), z.boolean(), z.null()]))),
      totalRows: z.int(),
      totalColumns: z.int(),
    })
    .nullish(),
});

export const Artifact = z.object({
  name: text.min(1).max(4_096),
  bytes: z.int().nonnegative(),
  sha256: text.regex(/^[0-9a-f]{64}$/),
  mimeType: text.max(200),
  width: z.int().nullish(),
  height: z.int().nullish(),
});

export const Result = z.object({
  verdict: z.enum([
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
    'platform_error',
  ]),
  exitCode: z.int().nullable(),
  signal: text.nullable(),
  error: z
    .object({
      name: text,
      message: text,
      line: z.int().nullable(),
      traceback: text,
      explanation: z.object({ zh: text, en: text }),
    })
    .nullable(),
  truncated: z.object({ stdout: z.boolean(), stderr: z.boolean() }),
  skipped: z.array(z.object({ name: text, reason: text })),
  usage: z.object({ wallMs: ms, cpuMs: ms, maxMemoryBytes: ms, outputBytes: ms }),
  timings: z.object({ stageMs: ms, runMs: ms, collectMs: ms }),
  strength: text,
});
export type SlotResult = z.infer<typeof Result>;

/** Reads one message; a fault names the field, never a value: values come from user code. Python says null where we leave a field out. */
export function parseMessage<S extends z.ZodType>(schema: S, json: string): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new MessageFault('is not JSON', { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MessageFault(`is not as agreed at ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
}

export class MessageFault extends Error {
  override readonly name = 'MessageFault';
}

/** Without the fields that are null. */
export function present<T>(head: { [K in keyof T]: T[K] | null }): T {
  return Object.fromEntries(Object.entries(head).filter(([, value]) => value !== null && value !== undefined)) as T;
}
