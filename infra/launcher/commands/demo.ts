import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Arguments, portOption } from '../command-line.ts';
import { Failure } from '../failure.ts';
import { installEverything } from '../install/everything.ts';
import { dataFolder } from '../paths.ts';
import { print, say } from '../terminal.ts';
import { inWords, type Text } from '../words.ts';

/** `./moli demo`: the main scene by itself on a throw-away data folder, with real services and a model that is labelled as scripted. */
export async function run({ options }: Arguments): Promise<number> {
  const { python } = await installEverything({ yes: options.yes === true });
  const folder = dataFolder(mkdtempSync(join(tmpdir(), 'moli-demo-')));
  process.once('exit', () => rmSync(folder.dir, { recursive: true, force: true, maxRetries: 5 }));
  const [{ freePort, portHolder }, { mainScene, startModelServer }, { supervise }, { playScene }] = await Promise.all([
    import('@moli/processes'),
    import('@moli/scripted-model'),
    import('../run/supervise.ts'),
    import('../demo/scene.ts'),
  ]);
  const done = stopwatch();
  const model = await startModelServer({ script: mainScene, models: ['scripted-demo'], apiKey: 'demo' });
  const settings = {
    ...machineSettings(),
    MOLI_MODEL_BASE_URL: model.url,
    MOLI_MODEL_API_KEY: 'demo',
    MOLI_MODEL_NAME: 'scripted-demo',
    MOLI_MODEL_SCRIPTED: 'true',
  };
  const port = portOption(options.port) ?? (portHolder(8000) ? await freePort() : 8000);
  const running = await supervise({ folder, python, settings, port, host: '127.0.0.1' });
  done({ zh: '启动数据库、队列、网关、执行器和沙箱', en: 'Started database, queue, gateway, executor and sandbox' });
  try {
    say({
      zh: '注意：演示模型的回答是预先写好的；上传、排队、沙箱、图表都是真的。',
      en: 'Note: the demo model is scripted; upload, queue, sandbox and chart are real.',
    });
    const key = running.stack.first.key;
    if (!key) throw new Failure({ zh: '首次启动没有给出密钥。', en: 'The first start gave no key.' });
    const chart = resolve('moli-demo-chart.png');
    await playScene({ origin: `http://127.0.0.1:${port}`, key, chart, done });
    print(chart);
    if (!options.once) {
      say({
        zh: '工作台已打开，演示数据会在退出时删除。按 Ctrl+C 退出。登录链接（一次有效）：',
        en: 'The workbench stays open; its data is removed at the end. Ctrl+C ends it. Sign-in link, good for once:',
      });
      print(running.stack.first.signInLink);
      await running.stopped;
    }
    return 0;
  } catch (error) {
    if (error instanceof Failure) throw error;
    const what = error instanceof Error ? error.message : String(error);
    throw new Failure({ zh: `演示没有完成：${what}`, en: `The demo did not work: ${what}` }, { cause: error });
  } finally {
    await running.stop();
    await model.stop();
  }
}

/** Nobody's own model, database or address gets into the demo. */
function machineSettings(): Record<string, string | undefined> {
  const { PATH, HOME, LANG, LC_ALL, TZ } = process.env;
  return { PATH, HOME, LANG, LC_ALL, TZ };
}

/** Prints each step with the seconds since the one before. */
function stopwatch(): (step: Text) => void {
  let last = performance.now();
  return (text) => {
    const now = performance.now();
    process.stderr.write(`✓ ${((now - last) / 1000).toFixed(2).padStart(6)} s  ${inWords(text)}\n`);
    last = now;
  };
}
