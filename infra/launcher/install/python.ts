import { join } from 'node:path';
import { CACHE, ROOT } from '../paths.ts';
import { step } from '../terminal.ts';
import { runCommand } from './command.ts';

/**
 * Starts making the sandbox's environment, where it is not there yet. The function answered waits for it as a step of its own and gives the
 * path of the interpreter: downloads of npm and pip run side by side that way.
 */
export function beginPython(): () => Promise<string> {
  let show: (line: string) => void = () => {};
  const work = runCommand('/usr/bin/python3', [join(ROOT, 'sandbox/install.py'), '--cache', CACHE], {
    note: (line) => show(line.replace(/^\[\s*[\d.]+ s\]\s*/, '')),
    failure: {
      zh: 'Python 环境没有建成，所以代码无法运行。原因见下。',
      en: 'The Python environment could not be made, so no code can run. The reason is below.',
    },
  });
  // Looked at below; a failure before that is not unhandled.
  work.catch(() => {});
  return () =>
    step({ zh: '准备 Python 环境', en: 'Preparing the Python environment' }, async (note) => {
      show = note;
      return (await work).trim().split('\n').at(-1) ?? '';
    });
}
