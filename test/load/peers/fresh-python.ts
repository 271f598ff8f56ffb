import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Shared by the peers' runs, so that nobody builds matplotlib's font list again and again. */
export const FONT_CACHE = join(tmpdir(), 'moli-load-matplotlib');

/** A new interpreter for each run, without any isolation: what a plain subprocess costs. */
export async function freshPython(python: string, code: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'moli-load-'));
  try {
    await writeFile(join(folder, 'main.py'), code);
    await run(python, ['main.py'], {
      cwd: folder,
      env: {
        PATH: '/usr/bin:/bin',
        HOME: folder,
        MPLBACKEND: 'Agg',
        MPLCONFIGDIR: FONT_CACHE,
        OPENBLAS_NUM_THREADS: '1',
        OMP_NUM_THREADS: '1',
      },
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
