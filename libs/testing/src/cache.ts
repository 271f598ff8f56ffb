import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where what can be made again lies: the folder that the launcher uses too, outside of every checkout. */
export const CACHE =
  process.env.MOLI_CACHE ?? (process.getuid?.() === 0 ? '/var/cache/moli' : join(homedir(), '.cache', 'moli'));
