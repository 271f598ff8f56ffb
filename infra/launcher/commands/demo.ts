import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Arguments, portOption } from '../command-line.ts';
import { Failure } from '../failure.ts';
import { installEverything } from '../install/everything.ts';
import { type DataFolder, dataFolder } from '../paths.ts';
import { print, say } from '../terminal.ts';
import { inWords, type Text } from '../words.ts';

/** `./moli demo`: the main scene by itself on a throw-away data folder, with real services and a model that is labelled as scripted. */
export async function run({ options }: Arguments): Promise<number> {
  const { python } = await installEverything({ yes: options.yes === true });
  const folder = dataFolder(mkdtempSync(join(tmpdir(), 'moli-demo-')));
  try {
    await perform(folder, python, options);
    return 0;
  } catch (error) {
    if (error instanceof Failure) throw error;
    const what = error instanceof Error ? error.message : String(error);
    throw new Failure({ zh: `演示没有完成：${what}`, en: `The demo did not work: ${what}` }, { cause: error });
  } finally {
    await rm(folder.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function perform(folder: DataFolder, python: string, options: Arguments['options']): Promise<void> {
  // The packages are there only now.
  const [{ freePort, portHolder }, { mainScene, startModelServer }, { supervise }, { playScene }] = await Promise.all([
    import('@moli/processes'),
    import('@moli/scripted-model'),
    import('../run/supervise.ts'),
    import('../demo/scene.ts'),
  ]);
  const done = stopwatch();
  const model = await startModelServer({ script: mainScene, models: ['scripted-demo'], apiKey: 'demo' });
  const port = portOption(options.port) ?? (portHolder(8000) ? await freePort() : 8000);
  const running = await supervise({ folder, python, settings: demoSettings(model.url), port, host: '127.0.0.1' });
  done({ zh: '启动数据库、队列、网关、执行器和沙箱', en: 'Started database, queue, gateway, executor and sandbox' });
  try {
    say({
      zh: '注意：演示模型的回答是预先写好的；上传、排队、沙箱、图表都是真的。',
      en: 'Note: the demo model is scripted; upload, queue, sandbox and chart are real.',
    });
    const { key, signInLink } = running.stack.first;
    if (!key) throw new Failure({ zh: '首次启动没有给出密钥。', en: 'The first start gave no key.' });
    const chart = resolve('moli-demo-chart.png');
    await playScene({ origin: `http://127.0.0.1:${port}`, key, chart, done });
    print(chart);
    if (options.once) return;
    say({
      zh: '工作台已打开，演示数据会在退出时删除。按 Ctrl+C 退出。登录链接（一次有效）：',
      en: 'The workbench stays open; its data is removed at the end. Ctrl+C ends it. Sign-in link, good for once:',
    });
    print(signInLink);
    await running.stopped;
  } finally {
    await running.stop();
    await model.stop();
  }
}

/** The machine's own settings and the demo model: nobody's own model, database or address gets into the demo. */
function demoSettings(modelUrl: string): Record<string, string | undefined> {
  const { PATH, HOME, LANG, LC_ALL, TZ } = process.env;
  const model = {
    MOLI_MODEL_BASE_URL: modelUrl,
    MOLI_MODEL_API_KEY: 'demo',
    MOLI_MODEL_NAME: 'scripted-demo',
    MOLI_MODEL_SCRIPTED: 'true',
  };
  return { PATH, HOME, LANG, LC_ALL, TZ, ...model };
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
