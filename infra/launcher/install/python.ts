import { join } from 'node:path';
import { CACHE, ROOT } from '../paths.ts';
import { step } from '../terminal.ts';
import { runCommand } from './command.ts';

/** The interpreter of the sandbox's environment; the environment is made when it is not there. */
export async function installPython(): Promise<string> {
  return step({ zh: '准备 Python 环境', en: 'Preparing the Python environment' }, async (note) => {
    const output = await runCommand('/usr/bin/python3', [join(ROOT, 'sandbox/install.py'), '--cache', CACHE], {
      note: (line) => note(line.replace(/^\[\s*[\d.]+ s\]\s*/, '')),
      failure: {
        zh: 'Python 环境没有建成，所以代码无法运行。原因见下。',
        en: 'The Python environment could not be made, so no code can run. The reason is below.',
      },
    });
    return output.trim().split('\n').at(-1) ?? '';
  });
}
