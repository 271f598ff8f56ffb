import { readdirSync, readFileSync } from 'node:fs';

/** A process that can't be mistaken for another one which got the same pid later: pid and start time (clock ticks since boot). */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

/** The process with this pid now, or undefined when there is none (a zombie counts as none). */
export function findProcess(pid: number): ProcessId | undefined {
  const stat = readStat(pid);
  if (!stat || stat.state === 'Z' || stat.state === 'X') return undefined;
  return { pid, startTicks: stat.startTicks };
}

export function isAlive(id: ProcessId): boolean {
  return findProcess(id.pid)?.startTicks === id.startTicks;
}

/** Memory of a process tree in bytes: the sum of PSS (shared pages counted once) of the process and all that came from it. */
export function residentBytes(root: number): { pssBytes: number; processes: number } {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  let pssBytes = 0;
  let processes = 0;
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    processes += 1;
    pssBytes += pss(pid);
    pending.push(...(children.get(pid) ?? []));
  }
  return { pssBytes, processes };
}

function pss(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function readStat(pid: number): { state: string; parent: number; startTicks: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may hold anything, a closing parenthesis too: fields are counted after the last one (proc(5)).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parent: Number(fields[1]), startTicks: Number(fields[19]) };
  } catch {
    return undefined;
  }
}
