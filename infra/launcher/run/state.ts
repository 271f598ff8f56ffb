import { existsSync, linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { findProcess, isAlive, type ProcessId } from '@moli/processes';
import type { DataFolder } from '../paths.ts';

export interface ServiceState {
  readonly name: string;
  readonly state: 'starting' | 'ready' | 'restarting' | 'stopped';
  readonly process?: ProcessId;
  readonly port?: number;
  readonly restarts: number;
  /** RFC 3339. */
  readonly since: string;
}

/** What runs on a data folder, written by the supervisor at each change (0600). */
export interface State {
  readonly supervisor: ProcessId;
  readonly url: string;
  readonly port: number;
  readonly ready: boolean;
  readonly services: readonly ServiceState[];
}

export function readState(folder: DataFolder): State | undefined {
  if (!existsSync(folder.state)) return undefined;
  try {
    return JSON.parse(readFileSync(folder.state, 'utf8')) as State;
  } catch {
    return undefined;
  }
}

export function writeState(folder: DataFolder, state: State): void {
  writeFileSync(`${folder.state}.new`, JSON.stringify(state, null, 2), { mode: 0o600 });
  renameSync(`${folder.state}.new`, folder.state);
}

/** The supervisor that holds a data folder now. */
export function holderOf(folder: DataFolder): ProcessId | undefined {
  try {
    const id = JSON.parse(readFileSync(folder.lock, 'utf8')) as ProcessId;
    return isAlive(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Takes the data folder for this process. Answers the holder when another one has it. */
export function takeLock(folder: DataFolder): ProcessId | undefined {
  const own = findProcess(process.pid) as ProcessId;
  const mine = `${folder.lock}.${own.pid}`;
  writeFileSync(mine, JSON.stringify(own), { mode: 0o600 });
  try {
    for (;;) {
      try {
        // A hard link is made whole or not at all, and never over an existing name.
        linkSync(mine, folder.lock);
        return undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = holderOf(folder);
      if (holder) return holder;
      setStaleAside(folder.lock, `${mine}.stale`);
    }
  } finally {
    unlinkSync(mine);
  }
}

/** Two launchers may find the same dead holder: a lock that the other one has just taken is put back. */
function setStaleAside(lock: string, aside: string): void {
  try {
    renameSync(lock, aside);
    const id = JSON.parse(readFileSync(aside, 'utf8')) as ProcessId;
    if (isAlive(id)) linkSync(aside, lock);
  } catch {
    // The other one was faster; the caller looks again.
  } finally {
    rmSync(aside, { force: true });
  }
}

export function releaseLock(folder: DataFolder): void {
  rmSync(folder.lock, { force: true });
  rmSync(folder.state, { force: true });
}
