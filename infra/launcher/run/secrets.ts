import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Failure } from '../failure.ts';

/** Made once for a data folder and never shown. Losing the file signs everyone out and locks stored model keys. */
export interface Secrets {
  /** MOLI_SECRET of the gateway: 64 hex digits. */
  readonly root: string;
  readonly postgres: string;
  readonly app: string;
  readonly log: string;
  readonly auth: string;
  readonly redis: string;
}

const NAMES = ['root', 'postgres', 'app', 'log', 'auth', 'redis'] as const;

/** The secrets of a data folder; made when the file is not there. Throws Failure when it is damaged: making new ones would lock the data. */
export function readSecrets(path: string): Secrets {
  if (!existsSync(path)) {
    const fresh = Object.fromEntries(NAMES.map((name) => [name, randomBytes(32).toString('hex')]));
    // Renamed when whole: a kill in between leaves no half file.
    writeFileSync(`${path}.new`, `${JSON.stringify(fresh, null, 2)}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  }
  chmodSync(path, 0o600);
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    if (NAMES.every((name) => typeof found[name] === 'string' && /^[0-9a-f]{64}$/.test(found[name])))
      return found as unknown as Secrets;
  } catch {
    // Said below.
  }
  throw new Failure({
    zh: `${path} 已损坏。请从备份恢复它；没有备份时，只能换一个空的数据目录（--data）。`,
    en: `${path} is damaged. Restore it from a backup; without one, only another, empty data folder (--data) will start.`,
  });
}
