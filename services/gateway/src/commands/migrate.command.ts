import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '@moli/telemetry';
import { type MigrateOptions, type MigrateResult, migrate } from '../database/migrator.ts';

const POLL_MS = 1_000;
/** A server that is not there yet: its name or port, or it says that it is starting up. Anything else is told at once. */
const NOT_YET = new Set(['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', '57P03']);

/** Migrates; waits up to `seconds` for a server that is not there yet, as when both are installed at once. */
export async function migrateWhenThere(options: MigrateOptions, seconds: number): Promise<MigrateResult> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await migrate(options);
    } catch (error) {
      const { code } = error as { code?: string };
      if (!NOT_YET.has(code ?? '') || Date.now() >= end) throw error;
      log.warn('waiting for the database', { reason: code });
      await sleep(POLL_MS);
    }
  }
}
