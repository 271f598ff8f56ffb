import { mkdirSync } from 'node:fs';
import { findProcess, isAlive, type ProcessId } from '@moli/processes';
import { Failure } from '../failure.ts';
import type { DataFolder } from '../paths.ts';
import { say } from '../terminal.ts';
import { inWords, type Text } from '../words.ts';
import { LogFile } from './log-file.ts';
import { endOrphans } from './orphans.ts';
import type { Settings } from './settings.ts';
import { type Stack, startStack } from './stack.ts';
import { readState, releaseLock, takeLock, writeState } from './state.ts';

// SIGHUP: the terminal was closed.
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface SuperviseOptions {
  readonly folder: DataFolder;
  readonly host: string;
  readonly port: number;
  readonly python: string;
  readonly settings: Settings;
  /** Gets a line about what is being waited for while everything starts. */
  readonly note?: (line: string) => void;
}

export interface Supervised {
  readonly stack: Stack;
  /** Resolves when everything has been stopped, because of a signal or `stop`. */
  readonly stopped: Promise<void>;
  stop(): Promise<void>;
}

/** Somebody else runs on the data folder already. */
export class AlreadyRunning extends Failure {
  readonly url: string | undefined;

  constructor(folder: DataFolder, holder: ProcessId) {
    const url = readState(folder)?.url;
    const where = url ? ` ${url}` : '';
    super({
      zh: `Moli 已在此数据目录上运行：${where}（pid ${holder.pid}，${folder.dir}）。要停止请运行 ./moli down。`,
      en: `Moli is already running on this data folder:${where} (pid ${holder.pid}, ${folder.dir}). ./moli down stops it.`,
    });
    this.url = url;
  }
}

/** Takes a data folder and runs everything on it as this process's children until it is told to stop. */
export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const { folder } = options;
  mkdirSync(folder.dir, { recursive: true, mode: 0o700 });
  const holder = takeLock(folder);
  if (holder) throw new AlreadyRunning(folder, holder);
  const log = new LogFile(folder.logs, 'launcher');
  const tell = (text: Text) => {
    log.write(`${new Date().toISOString()} ${text.en}\n`);
    say(text);
  };
  const own = findProcess(process.pid) as ProcessId;
  let ready = false;
  const starting = new AbortController();
  const interrupt = () => starting.abort(new Failure({ zh: '启动被中断。', en: 'The start was interrupted.' }));
  for (const name of SIGNALS) process.on(name, interrupt);
  try {
    const ended = await endOrphans(folder);
    if (ended > 0) {
      tell({
        zh: `已结束上次异常退出留下的 ${ended} 个进程。`,
        en: `Ended ${ended} processes that an earlier, killed launcher had left.`,
      });
    }
    const stack = await startStack({
      ...options,
      say: tell,
      signal: starting.signal,
      changed: (services, url) => {
        writeState(folder, { supervisor: own, url, port: options.port, ready, services });
        options.note?.(
          services
            .filter((one) => one.state === 'starting')
            .map((one) => one.name)
            .join(', '),
        );
      },
    });
    ready = true;
    const state = readState(folder);
    if (state) writeState(folder, { ...state, ready });
    log.write(`${new Date().toISOString()} ready at ${stack.url}\n`);
    return untilStopped(stack, folder, tell);
  } catch (error) {
    log.write(`${new Date().toISOString()} ${error instanceof Failure ? inWords(error.text) : String(error)}\n`);
    releaseLock(folder);
    throw error;
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
  }
}

function untilStopped(stack: Stack, folder: DataFolder, tell: (text: Text) => void): Supervised {
  let stopping: Promise<void> | undefined;
  const stopped = Promise.withResolvers<void>();
  const stop = () => {
    stopping ??= (async () => {
      const started = performance.now();
      tell({ zh: '正在停止 …', en: 'Stopping …' });
      await stack.stop();
      releaseLock(folder);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      tell({ zh: `已停止（${seconds} 秒）。`, en: `Stopped (${seconds} s).` });
      stopped.resolve();
    })();
    return stopping;
  };
  for (const name of SIGNALS) process.on(name, () => void stop());
  followCompanion(stop);
  return { stack, stopped: stopped.promise, stop };
}

/** A script or test that started us in the background names its own pid: when it is gone, by whatever end, nobody will stop us. */
function followCompanion(stop: () => Promise<void>): void {
  const companion = findProcess(Number(process.env.MOLI_STOP_WITH_PID ?? 0));
  if (!companion) return;
  const timer = setInterval(() => {
    if (isAlive(companion)) return;
    clearInterval(timer);
    void stop();
  }, 500);
}
