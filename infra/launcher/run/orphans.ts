import { readdirSync, readFileSync } from 'node:fs';
import { findProcess, isAlive, type ProcessId, until } from '@moli/processes';
import type { DataFolder } from '../paths.ts';
import { readState } from './state.ts';

/** Every process of a data folder has it in its environment: what is left of a killed tree is found by it. */
export const MARK = 'MOLI_LAUNCHER_INSTANCE';

/** Ends what a killed supervisor left running on this data folder. Answers how many processes that were. */
export async function endOrphans(folder: DataFolder): Promise<number> {
  const recorded = (readState(folder)?.services ?? []).flatMap((service) => (service.process ? [service.process] : []));
  const orphans = unique([...recorded, ...marked(folder.dir)]).filter(isAlive);
  if (orphans.length === 0) return 0;
  // They got the kernel's signal when their parent died and are on their way out: an orderly end is worth a moment.
  for (const { pid } of orphans) signal(pid, 'SIGTERM');
  const gone = () => orphans.every((orphan) => !isAlive(orphan));
  await until(gone, { what: 'old processes end', timeoutMs: 3_000 }).catch(() => {
    for (const { pid } of orphans) signal(pid, 'SIGKILL');
  });
  await until(gone, { what: 'old processes end', timeoutMs: 3_000 });
  return orphans.length;
}

function marked(dir: string): ProcessId[] {
  const line = `${MARK}=${dir}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => environmentOf(pid).includes(line))
    .flatMap((pid) => findProcess(Number(pid)) ?? []);
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function unique(ids: readonly ProcessId[]): ProcessId[] {
  return [...new Map(ids.map((id) => [`${id.pid}-${id.startTicks}`, id])).values()];
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already gone.
  }
}
