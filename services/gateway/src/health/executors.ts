import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { ExecutorReport } from './health.schema.ts';

/** Hash: executor id → JSON of ExecutorReport, written by each executor every few seconds; its fields age by `seenAt`, not by a TTL. */
export const EXECUTORS_KEY = 'moli:executors';

/** An executor that did not report for this long does not count, in milliseconds. */
const ALIVE_MS = 15_000;

/** Executors that reported lately. */
export async function livingExecutors(redis: Redis, now = Date.now()): Promise<z.infer<typeof ExecutorReport>[]> {
  const reports = Object.values(await redis.hgetall(EXECUTORS_KEY));
  return reports.flatMap((text) => {
    const parsed = ExecutorReport.safeParse(safeJson(text));
    return parsed.success && now - parsed.data.seenAt < ALIVE_MS ? [parsed.data] : [];
  });
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
