import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, SANDBOX_DIR, sandboxPython, testFolder, until } from '@moli/testing';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const EXECUTOR_DIR = join(import.meta.dirname, '../../../executor');

/** A real executor process with a sandbox of its own. */
export interface TestExecutor {
  readonly process: ChildProcess;
  readonly port: number;
  /** Folder of its sandbox and of files on their way out. */
  readonly stateDir: string;
  /** What it logged. */
  log(): string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

let built: Promise<string> | undefined;

/** The bundle, made once for a test process, in a folder that no build empties: the process runs that and not the sources, as in production. */
function buildExecutor(): Promise<string> {
  const folder = join(EXECUTOR_DIR, 'node_modules/.cache', `test-${process.pid}`);
  const rolldown = join(import.meta.dirname, '../../../../node_modules/.bin/rolldown');
  if (!built) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  built ??= promisify(execFile)(rolldown, ['-c', 'rolldown.config.ts', '-d', folder], { cwd: EXECUTOR_DIR }).then(() =>
    join(folder, 'main.js'),
  );
  return built;
}

export async function startExecutor(redisUrl: string, env: Record<string, string> = {}): Promise<TestExecutor> {
  const [main, python, port] = await Promise.all([buildExecutor(), sandboxPython(), freePort()]);
  const stateDir = testFolder('executor');
  const child = spawn(process.execPath, ['--enable-source-maps', main], {
    env: {
      PATH: process.env.PATH ?? '',
      MOLI_EXECUTOR_PORT: String(port),
      MOLI_REDIS_URL: redisUrl,
      MOLI_SANDBOX_PYTHON: python,
      MOLI_SANDBOX_DIR: SANDBOX_DIR,
      MOLI_SANDBOX_STATE_DIR: stateDir,
      MOLI_SANDBOX_SLOTS: '2',
      MOLI_LOG_LEVEL: 'warn',
      // As the launcher starts it.
      NODE_OPTIONS: '--max-semi-space-size=2 --max-old-space-size=128',
      ...env,
    },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-100_000);
  });
  const ready = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`the executor ended while starting:\n${log}`);
    return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200;
  };
  await until(ready, { what: `the executor is ready\n${log}`, timeoutMs: 60_000 });
  return {
    process: child,
    port,
    stateDir,
    log: () => log,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
}

/** Gateway, and an address at which executors reach it for signed links. */
export async function startRunsGateway(env: Record<string, string> = {}): Promise<TestGateway> {
  const port = await freePort();
  return startTestGateway({
    MOLI_UPLOAD_TYPES: 'csv,txt',
    MOLI_PORT: String(port),
    MOLI_INTERNAL_URL: `http://127.0.0.1:${port}`,
    ...env,
  });
}
