import { spawn } from 'node:child_process';
import { findProcess, type ProcessId } from './process-id.ts';

export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process; nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** What the kernel sends when the process that started this one dies, by whatever end. */
  readonly deathSignal: NodeJS.Signals;
  /** Gets standard output and standard error in the order of arrival. */
  readonly output: (chunk: Buffer) => void;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly id: ProcessId;
  readonly exited: Promise<Exit>;
  /** Sends `signal`, waits up to `graceMs`, then kills the whole process group. Resolves when the process is gone. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<Exit>;
}

/**
 * Starts a process in a session of its own (a Ctrl+C at the terminal does not reach it) that can't outlive us.
 * Throws when the command can't be started.
 */
export async function startProcess(spec: ProcessSpec): Promise<RunningProcess> {
  const death = spec.deathSignal.replace(/^SIG/, '');
  const child = spawn('setpriv', ['--pdeathsig', death, '--', spec.command, ...spec.args], {
    cwd: spec.cwd,
    env: spec.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.stdout.on('data', spec.output);
  child.stderr.on('data', spec.output);
  const pid = child.pid as number;
  // A process that is gone already keeps its pid until we have taken its exit status, so this can't name another one.
  const id = findProcess(pid) ?? { pid, startTicks: -1 };
  return {
    id,
    exited,
    async stop(signal, graceMs) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const timer = setTimeout(() => killGroup(pid), graceMs);
      try {
        return await exited;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Already gone.
  }
}
