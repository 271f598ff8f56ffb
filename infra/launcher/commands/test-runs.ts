import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ROOT } from '../paths.ts';
import { say } from '../terminal.ts';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, and what passed only when it was tried again: names of tests with the first lines of what they said. */
  readonly troubles: readonly string[];
}

export const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0, troubles: [] };

/** Lines of a test's message that are said again at the end. */
const TROUBLE_LINES = 4;
const TROUBLE_WIDTH = 300;

type Env = Readonly<Record<string, string | undefined>>;

export function add(one: Counts, two: Counts): Counts {
  return {
    passed: one.passed + two.passed,
    failed: one.failed + two.failed,
    skipped: one.skipped + two.skipped,
    troubles: [...one.troubles, ...two.troubles],
  };
}

/** What Vitest's JSON reporter writes, as far as it is counted. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Runs Vitest projects. A file that can't even be loaded counts as one failed test. */
export async function runVitest(projects: readonly string[], env: Env): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'moli-test-report-'));
  const report = join(folder, 'report.json');
  try {
    const code = await show(
      process.execPath,
      [
        join(ROOT, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--passWithNoTests',
        ...projects.map((name) => `--project=${name}`),
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
      ],
      env,
    );
    return countReport(existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : undefined, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every way in which a run was not clean makes at least one failed test. */
export function countReport(report: Report | undefined, code: number): Counts {
  if (!report) return { ...NOTHING, failed: 1, troubles: [`✗ Vitest wrote no report (exit code ${code})`] };
  const troubles: string[] = [];
  let unloadable = 0;
  for (const file of report.testResults) {
    const path = relative(ROOT, file.name);
    for (const { fullName, status, failureMessages } of file.assertionResults) {
      if (status === 'failed') troubles.push(`✗ ${path}: ${fullName}${firstLines(failureMessages)}`);
      // Vitest keeps what the first try said.
      else if (failureMessages.length > 0)
        troubles.push(`! ${path}: ${fullName} (passed when it was tried again)${firstLines(failureMessages)}`);
    }
    if (file.status !== 'failed' || file.assertionResults.some(({ status }) => status === 'failed')) continue;
    if (file.assertionResults.length === 0) unloadable += 1;
    troubles.push(`✗ ${path}${firstLines([file.message])}`);
  }
  const failed = report.numFailedTests + unloadable;
  const unclean = failed === 0 && code !== 0;
  return {
    passed: report.numPassedTests,
    failed: unclean ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    troubles: unclean ? [...troubles, `✗ no test failed, but Vitest ended with exit code ${code}`] : troubles,
  };
}

function firstLines(messages: readonly string[]): string {
  const lines = stripVTControlCharacters(messages.join('\n'))
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines
    .slice(0, TROUBLE_LINES)
    .map((line) => `\n    ${line.trim().slice(0, TROUBLE_WIDTH)}`)
    .join('');
}

/** Runs the sandbox program's own tests, by the interpreter that users get on Debian. */
export async function runPython(env: Env): Promise<Counts> {
  if (!existsSync(join(ROOT, 'sandbox/tests'))) return NOTHING;
  let output = '';
  const code = await show('/usr/bin/python3', ['-m', 'unittest', 'discover', '-s', 'sandbox/tests'], env, (text) => {
    output += text;
  });
  return countUnittest(output, code);
}

/** `Ran 12 tests in 3.4s` and `FAILED (failures=1, errors=2, skipped=3)`, as unittest prints them last. */
export function countUnittest(output: string, code: number): Counts {
  const ran = Number(/^Ran (\d+) tests?/m.exec(output)?.[1] ?? 0);
  const verdict = /^(?:OK|FAILED)(?: \((.*)\))?\s*$/m.exec(output)?.[1] ?? '';
  const of = (name: string) => Number(new RegExp(`(?:^|\\W)${name}=(\\d+)`).exec(verdict)?.[1] ?? 0);
  const bad = of('failures') + of('errors') + of('unexpected successes');
  const failed = bad === 0 && code !== 0 ? 1 : bad;
  const named = [...output.matchAll(/^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.*)$/gm)].map(
    ([, name]) => `✗ sandbox/tests: ${name}`,
  );
  const troubles = failed > 0 && named.length === 0 ? [`✗ unittest ended with exit code ${code}`] : named;
  return { passed: Math.max(0, ran - bad - of('skipped')), failed, skipped: of('skipped'), troubles };
}

/** Measures and prints tables; numbers are no tests, so a script that ends well counts as one passed. */
export async function runLoad(env: Env): Promise<Counts> {
  const script = join(ROOT, 'test/load/main.ts');
  if (!existsSync(script)) return NOTHING;
  const code = await show(process.execPath, ['--disable-warning=ExperimentalWarning', script], env);
  if (code === 0) return { ...NOTHING, passed: 1 };
  return { ...NOTHING, failed: 1, troubles: [`✗ the measurements ended with exit code ${code}`] };
}

/** Runs a program whose output is for the person's eyes: all of it goes to standard error, the result line stays alone. */
async function show(
  command: string,
  args: readonly string[],
  env: Env,
  also: (text: string) => void = () => {},
): Promise<number> {
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text);
      also(text);
    });
  }
  let interrupted = false;
  const forward = (name: NodeJS.Signals) => {
    interrupted = true;
    child.kill(name);
  };
  process.on('SIGINT', forward).on('SIGTERM', forward);
  const code = await new Promise<number>((resolve) => {
    child.once('error', (error) => {
      say({ zh: `无法运行 ${command}：${error.message}`, en: `${command} could not be run: ${error.message}` });
      resolve(1);
    });
    child.once('close', (exit) => resolve(exit ?? 1));
  });
  process.off('SIGINT', forward).off('SIGTERM', forward);
  // Who stops the tests does not want the next kind of them; 130 is what a shell says after Ctrl+C.
  if (interrupted) process.exit(130);
  return code;
}
