import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** What can be made again at any time: Node, the Python environment. Outside the checkout, shared by all of this user's checkouts. */
export const CACHE =
  process.env.MOLI_CACHE ?? (process.getuid?.() === 0 ? '/var/cache/moli' : join(homedir(), '.cache', 'moli'));

/** Where the Node that runs us and a current npm lie; see `moli`. */
export const TOOLS = process.env.MOLI_TOOLS ?? join(CACHE, 'node-24.21.0');

/** One data folder holds everything that is not code: nothing is written elsewhere but the cache. */
export interface DataFolder {
  readonly dir: string;
  readonly secrets: string;
  readonly env: string;
  readonly lock: string;
  readonly state: string;
  readonly logs: string;
  readonly postgres: string;
  readonly redis: string;
  readonly objects: string;
  readonly uploads: string;
  readonly sandbox: string;
}

export function dataFolder(option: string | boolean | undefined): DataFolder {
  const dir = resolve(typeof option === 'string' ? option : join(ROOT, 'data'));
  return {
    dir,
    secrets: join(dir, 'secrets.json'),
    env: join(dir, '.env'),
    lock: join(dir, 'launcher.lock'),
    state: join(dir, 'launcher.json'),
    logs: join(dir, 'logs'),
    postgres: join(dir, 'postgres'),
    redis: join(dir, 'redis'),
    objects: join(dir, 'objects'),
    uploads: join(dir, 'uploads'),
    sandbox: join(dir, 'sandbox'),
  };
}
