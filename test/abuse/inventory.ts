import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from '../support/stack.ts';

/** The user that the sandbox becomes when root starts it (`box.py --uid`). */
export const SANDBOX_UID = 64_001;
/** Folders of the machine that any user may write to. */
const SHARED_FOLDERS = ['/tmp', '/var/tmp', '/dev/shm', '/run/lock'];
const NAMESPACES = ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup'];

/** What a sandbox holds on the machine: numbers that must come back to what they were, lists that must stay empty. */
export interface Inventory {
  /** Processes below the executor: the box with its idle slots. */
  readonly processes: number;
  readonly namespaces: number;
  /** Groups of runs, in all trees together. */
  readonly groups: number;
  /** Mounts of this machine that name Moli's data folder or the sandbox. */
  readonly mounts: number;
  /** Objects of System V IPC that the sandbox's user made. */
  readonly ipc: number;
  /** Processes of the sandbox's user that no box keeps. */
  readonly orphans: readonly string[];
  readonly files: readonly string[];
}

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  readonly command: string;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Ended between the listing and the reading.
    return '';
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Every process of the machine. */
export function allProcesses(): Process[] {
  return list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const status = read(`/proc/${name}/status`);
      const parent = /^PPid:\s+(\d+)/m.exec(status)?.[1];
      if (parent === undefined) return [];
      return {
        pid: Number(name),
        parent: Number(parent),
        uid: Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]),
        command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' '),
      };
    });
}

/** All that descends from a process, without itself. */
export function descendants(root: number, processes: readonly Process[] = allProcesses()): Process[] {
  const below = new Set([root]);
  const found: Process[] = [];
  for (let before = -1; before !== found.length; ) {
    before = found.length;
    for (const process of processes) {
      if (below.has(process.parent) && !below.has(process.pid)) {
        below.add(process.pid);
        found.push(process);
      }
    }
  }
  return found;
}

/** Processes of the sandbox's user without a keeper among their forebears: nobody would ever end them. */
function orphans(processes: readonly Process[]): string[] {
  const byPid = new Map(processes.map((process) => [process.pid, process]));
  const kept = (process: Process): boolean => {
    for (let at: Process | undefined = process; at; at = byPid.get(at.parent)) {
      if (at.command.includes('box.py')) return true;
    }
    return false;
  };
  return processes
    .filter((process) => process.uid === SANDBOX_UID && !kept(process))
    .map((process) => `${process.pid} ${process.command}`);
}

/** Folders of the box's groups; each tree (v1) or the one tree (v2) has one. */
function groupFolders(box: readonly Process[]): string[] {
  const ours = new Set(box.map(({ pid }) => String(pid)));
  return ['/sys/fs/cgroup', ...list('/sys/fs/cgroup').map((name) => join('/sys/fs/cgroup', name))].flatMap((tree) =>
    list(tree)
      .filter((name) => name.startsWith('moli-') && ours.has(name.split('-')[1] ?? ''))
      .map((name) => join(tree, name)),
  );
}

function namespacesOf(processes: readonly Process[]): Set<string> {
  const found = new Set<string>();
  for (const { pid } of processes) {
    for (const kind of NAMESPACES) {
      try {
        found.add(readlinkSync(`/proc/${pid}/ns/${kind}`));
      } catch {
        // Ended, or of somebody else.
      }
    }
  }
  return found;
}

function sandboxFiles(): string[] {
  return SHARED_FOLDERS.flatMap((folder) =>
    list(folder)
      .map((name) => join(folder, name))
      .filter((path) => {
        try {
          return statSync(path).uid === SANDBOX_UID;
        } catch {
          return false;
        }
      }),
  );
}

const linesOf = (path: string, wanted: (line: string) => boolean): number =>
  read(path).split('\n').filter(wanted).length;

/** What is on its way in or out of a run, kept by the executor and the object store. */
function unfinished(dataDir: string): string[] {
  return [join(dataDir, 'sandbox', 'outbox'), join(dataDir, 'objects', '.unfinished')]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => list(folder).map((name) => join(folder, name)));
}

/** Takes stock. `executor` is its pid. */
export function takeInventory(stack: Stack, executor: number): Inventory {
  const processes = allProcesses();
  const box = descendants(executor, processes);
  const groups = groupFolders(box).flatMap((folder) => list(folder).filter((name) => name.startsWith('run-')));
  const ipc = ['shm', 'sem', 'msg'].map((kind) =>
    linesOf(`/proc/sysvipc/${kind}`, (line) => line.trim().split(/\s+/).includes(String(SANDBOX_UID))),
  );
  return {
    processes: box.length,
    namespaces: namespacesOf(box).size,
    groups: groups.length,
    mounts: linesOf('/proc/self/mountinfo', (line) => line.includes(stack.place.dataDir) || line.includes('moli')),
    ipc: ipc.reduce((sum, count) => sum + count, 0),
    orphans: orphans(processes),
    files: [...sandboxFiles(), ...unfinished(stack.place.dataDir)],
  };
}

/** What is there now and was not before; empty when everything came back. */
export function leftOver(before: Inventory, now: Inventory): string[] {
  const numbers = (['processes', 'namespaces', 'groups', 'mounts', 'ipc'] as const)
    .filter((name) => now[name] > before[name])
    .map((name) => `${name}: ${now[name]} instead of ${before[name]}`);
  const lists = (['orphans', 'files'] as const).flatMap((name) =>
    now[name].filter((entry) => !before[name].includes(entry)).map((entry) => `${name}: ${entry}`),
  );
  return [...numbers, ...lists];
}
