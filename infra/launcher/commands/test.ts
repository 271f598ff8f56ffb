import { type Arguments, UsageError } from '../command-line.ts';
import { installEverything } from '../install/everything.ts';
import { CHROMIUM } from '../install/system.ts';
import { print, say } from '../terminal.ts';
import { add, type Counts, NOTHING, runLoad, runPython, runVitest } from './test-runs.ts';

const KINDS = ['unit', 'int', 'e2e', 'browser', 'abuse', 'cluster', 'load'] as const;
/** Kinds that run only when they are named: one needs a Kubernetes, the other measures. */
const NAMED_ONLY: readonly Kind[] = ['cluster', 'load'];
type Kind = (typeof KINDS)[number];

/** `./moli test [kinds…]`: installs and starts what the tests need, runs them, ends with the closing line alone on its line. */
export async function run({ rest, options }: Arguments): Promise<number> {
  for (const kind of rest) {
    if (!KINDS.includes(kind as Kind)) {
      const list = KINDS.join(', ');
      throw new UsageError({
        zh: `没有测试种类「${kind}」；有：${list}。`,
        en: `There is no kind of tests "${kind}"; there are: ${list}.`,
      });
    }
  }
  const kinds = rest.length > 0 ? (rest as Kind[]) : KINDS.filter((kind) => !NAMED_ONLY.includes(kind));
  const { python } = await installEverything({
    yes: options.yes !== false,
    also: kinds.includes('browser') ? [CHROMIUM] : [],
  });
  const env = { ...process.env, MOLI_SANDBOX_PYTHON: python, NODE_ENV: 'test' };
  let counts: Counts = NOTHING;
  for (const kind of kinds) {
    say({ zh: `── ${kind}`, en: `── ${kind}` });
    if (kind === 'load') counts = add(counts, await runLoad(env));
    else counts = add(counts, await runVitest(kind === 'unit' ? ['unit', 'web'] : [kind], env));
    if (kind === 'int') counts = add(counts, await runPython(env));
  }
  // Said again here: what failed an hour ago has left the screen.
  for (const trouble of counts.troubles) print(trouble);
  print(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed === 0 ? 0 : 1;
}
