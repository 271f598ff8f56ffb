import { readdirSync, readFileSync } from 'node:fs';
import type { LoadContext } from './context.ts';
import { digits, printTable } from './statistics.ts';

const KIB = 1024;
const MIB = 1024 * 1024;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return [
          { pid: Number(pid), parent, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') },
        ];
      } catch {
        return [];
      }
    });
}

function below(all: readonly Process[], pid: number): Process[] {
  const children = all.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...below(all, child.pid)]);
}

/** `Pss` and private bytes of a process; zero for one that has gone. */
export function memoryOf(pid: number): { pss: number; unique: number } {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) * KIB;
    return { pss: of('Pss'), unique: of('Private_Clean') + of('Private_Dirty') };
  } catch {
    return { pss: 0, unique: 0 };
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** G3: what one idle slot has for itself; the peer is a separate interpreter with the same imports. G30: the whole idle stack. */
export async function memory(context: LoadContext): Promise<void> {
  const status = await context.stack.status();
  const all = processes();
  const tree = [{ pid: status.pid, parent: 0, command: '' }, ...below(all, status.pid)];
  const zygotes = tree.filter(({ command }) => command.includes('zygote.py'));
  const pids = new Set(zygotes.map(({ pid }) => pid));
  // A slot is two of them: the program, forked by the zygote, and its monitor, forked by the nursery.
  const forked = zygotes.filter(({ parent }) => pids.has(parent));
  const slots = forked.length / 2;
  const unique = sum(forked.map(({ pid }) => memoryOf(pid).unique));
  printTable(
    'Memory of one idle slot (G3)',
    ['', 'slots', 'unique MB a slot'],
    [['Moli', String(slots), digits(unique / Math.max(1, slots) / MIB)]],
  );
  const services = new Map(status.services.filter(({ pid }) => pid).map(({ name, pid }) => [name, pid!]));
  const rows = [...services].map(([name, pid]) => {
    const own = [pid, ...below(all, pid).map((child) => child.pid)];
    return [name, String(own.length), digits(sum(own.map((one) => memoryOf(one).pss)) / MIB)];
  });
  rows.push(['whole tree', String(tree.length), digits(sum(tree.map(({ pid }) => memoryOf(pid).pss)) / MIB)]);
  printTable('Idle memory (G30), PSS', ['service with what it started', 'processes', 'MB'], rows);
}
