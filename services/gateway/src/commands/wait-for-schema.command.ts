import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@moli/errors';
import { log } from '@moli/telemetry';
import { type SchemaState, schemaState } from '../database/migrator.ts';
import { makePool } from '../database/pools.ts';

const POLL_MS = 1_000;
/** The reason is said this often while it stays the same. */
const SAY_MS = 15_000;

/** What is told of a database that cannot be asked: never the address, and no password. */
function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? `the database cannot be asked (${code})` : 'the database cannot be asked';
}

/**
 * Answers when the database has every migration of this code. A new gateway waits so before it takes the place of an old one; the migration runs
 * beside it. Throws `unavailable` when `seconds` have passed, with what was missing last.
 */
export async function waitForSchema(databaseUrl: string, seconds: number): Promise<SchemaState> {
  const pool = makePool({ url: databaseUrl, name: 'moli-wait', max: 1 });
  const end = Date.now() + seconds * 1000;
  let said = { reason: '', at: 0 };
  try {
    for (;;) {
      const state = await schemaState(pool).catch(reasonOf);
      if (typeof state !== 'string' && state.missing.length === 0) return state;
      const reason = typeof state === 'string' ? state : `not migrated: ${state.missing.join(', ')}`;
      if (Date.now() >= end) {
        throw new AppError('unavailable', {
          zh: `等待了 ${seconds} 秒，数据库仍不可用（${reason}）。请查看 migrate 任务的日志。`,
          en: `The database is not ready after ${seconds} s (${reason}). Look at the log of the migrate Job.`,
        });
      }
      if (reason !== said.reason || Date.now() - said.at > SAY_MS) {
        log.warn('waiting for the database', { reason });
        said = { reason, at: Date.now() };
      }
      await sleep(POLL_MS);
    }
  } finally {
    await pool.end();
  }
}
