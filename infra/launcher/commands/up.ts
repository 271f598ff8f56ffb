import { existsSync } from 'node:fs';
import { type Arguments, portOption } from '../command-line.ts';
import { installEverything } from '../install/everything.ts';
import { packagesAreCurrent } from '../install/packages.ts';
import { type DataFolder, dataFolder } from '../paths.ts';
import type { Ready } from '../run/detached.ts';
import { print, say, step } from '../terminal.ts';
import type { Text } from '../words.ts';

/** `./moli up`: installs what is missing, builds, starts, and stays until it is stopped; with `--detach` it returns when everything is ready. */
export async function run({ options }: Arguments): Promise<number> {
  const started = performance.now();
  const folder = dataFolder(options.data);
  const wanted = portOption(options.port);
  const host = typeof options.host === 'string' ? options.host : undefined;
  if (await runsAlready(folder)) return 0;
  const { python } = await installEverything({ yes: options.yes === true });
  // From here on the packages are there.
  const [{ readSettings, modelAdvice }, { AlreadyRunning, supervise }, { startDetached }] = await Promise.all([
    import('../run/settings.ts'),
    import('../run/supervise.ts'),
    import('../run/detached.ts'),
  ]);
  const settings = readSettings(folder);
  const place = {
    folder,
    python,
    settings,
    port: wanted ?? portOption(settings.MOLI_PORT) ?? 8000,
    host: host ?? settings.MOLI_HOST ?? '127.0.0.1',
  };
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  try {
    if (options.detach) {
      const ready = await step({ zh: '启动', en: 'Starting' }, () => startDetached(place));
      announce(folder, ready, seconds(), modelAdvice(settings, ready.first.hasModel));
      return 0;
    }
    const running = await step({ zh: '启动', en: 'Starting' }, (note) => supervise({ ...place, note }));
    announce(folder, running.stack, seconds(), modelAdvice(settings, running.stack.first.hasModel));
    say({ zh: '按 Ctrl+C 停止。', en: 'Ctrl+C stops it.' });
    await running.stopped;
    return 0;
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    say(error.text);
    return 0;
  }
}

/** Says so when Moli runs on the folder: nothing is installed or built under running services. */
async function runsAlready(folder: DataFolder): Promise<boolean> {
  if (!existsSync(folder.lock) || !packagesAreCurrent()) return false;
  const [{ holderOf }, { AlreadyRunning }] = await Promise.all([
    import('../run/state.ts'),
    import('../run/supervise.ts'),
  ]);
  const holder = holderOf(folder);
  if (holder) say(new AlreadyRunning(folder, holder).text);
  return holder !== undefined;
}

/** Results go to standard output, one a line: address, sign-in link, and at the first start the administrator's API key. */
function announce(folder: DataFolder, { url, first }: Ready, seconds: string, advice?: Text): void {
  say({
    zh: `Moli 已就绪（${seconds} 秒）。数据目录：${folder.dir}`,
    en: `Moli is ready (${seconds} s). Data folder: ${folder.dir}`,
  });
  if (advice) say(advice);
  say({
    zh: `地址，以及 ${first.user.email} 的登录链接（只能用一次）：`,
    en: `The address, and a sign-in link for ${first.user.email} that works once:`,
  });
  print(url);
  print(first.signInLink);
  if (!first.key) return;
  say({ zh: '管理员的 API 密钥（只显示这一次）：', en: 'API key of the administrator, shown only now:' });
  print(first.key);
}
