import { isAlive, until } from '@moli/processes';
import type { Arguments } from '../command-line.ts';
import { dataFolder } from '../paths.ts';
import { endOrphans } from '../run/orphans.ts';
import { holderOf, releaseLock } from '../run/state.ts';
import { say, step } from '../terminal.ts';

/** `./moli down`: stops everything on the data folder and leaves no process. */
export async function run({ options }: Arguments): Promise<number> {
  const folder = dataFolder(options.data);
  const holder = holderOf(folder);
  if (!holder && (await endOrphans(folder)) === 0) {
    say({ zh: `没有在运行（${folder.dir}）。`, en: `Nothing is running on ${folder.dir}.` });
    return 0;
  }
  if (holder) {
    await step({ zh: '停止', en: 'Stopping' }, async () => {
      process.kill(holder.pid, 'SIGTERM');
      await until(() => !isAlive(holder), { what: 'the launcher ends', timeoutMs: 8_000 }).catch(() =>
        process.kill(holder.pid, 'SIGKILL'),
      );
    });
    await endOrphans(folder);
  }
  releaseLock(folder);
  return 0;
}
