import { spawn } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.ts';
import { ROOT } from '../paths.ts';
import type { Stack } from './stack.ts';
import { holderOf } from './state.ts';
import { AlreadyRunning, type SuperviseOptions } from './supervise.ts';

/** What there is to say when everything is ready. */
export type Ready = Pick<Stack, 'url' | 'first'>;

/** What the supervisor in the background tells the launcher that started it. */
export type Report = { readonly ready: Ready } | { readonly failed: { zh: string; en: string } };

/** Starts the supervisor in the background and waits until everything is ready. */
export async function startDetached({ folder, host, port, python }: SuperviseOptions): Promise<Ready> {
  const holder = holderOf(folder);
  if (holder) throw new AlreadyRunning(folder, holder);
  mkdirSync(folder.logs, { recursive: true, mode: 0o700 });
  // Its own messages go to launcher.log by itself; this catches what a crash of Node prints.
  const output = openSync(join(folder.logs, 'launcher-crash.log'), 'a', 0o600);
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      join(ROOT, 'infra/launcher/main.ts'),
      'supervise',
      '--data',
      folder.dir,
      '--host',
      host,
      '--port',
      String(port),
      '--python',
      python,
    ],
    { cwd: folder.dir, detached: true, stdio: ['ignore', 'ignore', output, 'ipc'] },
  );
  const report = await new Promise<Report>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Report));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      const how = signal ?? code;
      resolve({
        failed: {
          zh: `启动器在后台退出（${how}）。原因见 ${folder.logs}。`,
          en: `The launcher in the background ended (${how}). ${folder.logs} shows why.`,
        },
      });
    });
  });
  if ('failed' in report) throw new Failure(report.failed);
  child.disconnect();
  child.unref();
  return report.ready;
}
