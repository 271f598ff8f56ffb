import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProcess, isAlive } from '@moli/processes';

/** Folders of all test processes of this user: `<root>/<pid>-<start time>/…`. */
const ROOT = join(tmpdir(), `moli-tests-${process.getuid?.() ?? 0}`);

/** Set by the global setup: its processes put their folders into the one of the run, which outlives them and is removed as a whole. */
export const SHARED_FOLDER = 'MOLI_TEST_FOLDER';

let own: string | undefined;

/**
 * A new empty folder that is gone when this process ends. What a killed process left is removed by the next one.
 * Servers started by this process end with it (see `@moli/processes`).
 */
export function testFolder(name: string): string {
  own ??= process.env[SHARED_FOLDER] ?? makeOwnFolder();
  return mkdtempSync(join(own, `${name}-`));
}

function makeOwnFolder(): string {
  sweep();
  const folder = join(ROOT, `${process.pid}-${findProcess(process.pid)?.startTicks ?? 0}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function sweep(): void {
  mkdirSync(ROOT, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(ROOT)) {
    const [pid, startTicks] = name.split('-').map(Number);
    if (!isAlive({ pid: pid ?? 0, startTicks: startTicks ?? 0 })) {
      rmSync(join(ROOT, name), { recursive: true, force: true });
    }
  }
}
