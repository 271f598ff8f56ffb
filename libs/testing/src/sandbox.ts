import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CACHE } from './cache.ts';

/** Folder of the in-sandbox program. */
export const SANDBOX_DIR = process.env.MOLI_SANDBOX_DIR ?? join(import.meta.dirname, '../../../sandbox');

let found: Promise<string> | undefined;

/** The interpreter of the environment that runs use; made on the first call on a fresh machine, which takes a minute or two. */
export function sandboxPython(): Promise<string> {
  const given = process.env.MOLI_SANDBOX_PYTHON;
  if (given) return Promise.resolve(given);
  found ??= promisify(execFile)('/usr/bin/python3', [join(SANDBOX_DIR, 'install.py'), '--cache', CACHE]).then(
    ({ stdout }) => stdout.trim().split('\n').at(-1)!,
  );
  return found;
}
