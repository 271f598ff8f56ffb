import { readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { TRAILER_BYTES } from './object-file.ts';
import type { ListedObject } from './object-store.ts';

/** True for errors of a file that is not there. Another caller may delete what we walk over: gone is not a failure. */
export function isGone(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

interface Name {
  /** A folder's name carries its slash, so that plain order of names is the order of whole keys (`a-b` < `a/c` < `a0`). */
  readonly name: string;
  readonly folder: boolean;
}

async function namesIn(path: string): Promise<Name[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isFile()))
      .map((entry) => ({ name: entry.isDirectory() ? `${entry.name}/` : entry.name, folder: entry.isDirectory() }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** Objects below `prefix` in key order, from the first key greater than `after`. Holds one folder's names a level. */
export async function* walkObjects(root: string, prefix: string, after: string): AsyncGenerator<ListedObject> {
  for (const { name, folder } of await namesIn(join(root, prefix))) {
    const key = prefix + name;
    if (folder) {
      if (key < after && !after.startsWith(key)) continue;
      yield* walkObjects(root, key, after);
    } else if (key > after) {
      const size = await sizeOf(join(root, key));
      if (size !== null) yield { key, bytes: size - TRAILER_BYTES };
    }
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Deletes every object below a folder and the folders that became empty. Returns how many objects went. */
export async function deleteBelow(path: string): Promise<number> {
  let count = 0;
  for (const { name, folder } of await namesIn(path)) {
    if (folder) count += await deleteBelow(join(path, name));
    else if (await unlinkIfThere(join(path, name))) count += 1;
  }
  await removeEmpty(path);
  return count;
}

export async function unlinkIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Removes a folder if it is empty; says whether it is gone. */
export async function removeEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    if (isGone(error)) return true;
    throw error;
  }
}
