import { spawn } from 'node:child_process';
import { Failure } from '../failure.ts';
import { TOOLS } from '../paths.ts';
import type { Text } from '../words.ts';

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Gets each line of both outputs while the command runs. */
  readonly note?: (line: string) => void;
  /** Says what failed and what to do; the end of the command's output is added. */
  readonly failure: Text;
}

// npm puts pages of help behind its reason, others print the reason last: the first lines that speak of an error are kept, and the end.
const KEPT_ERRORS = 12;
const KEPT_LINES = 12;

/** Runs a program to its end and returns its standard output. Throws Failure when it does not end with 0. */
export async function runCommand(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errors: string[] = [];
  const tail: string[] = [];
  let output = '';
  const lines = (text: string) => {
    for (const line of text.split(/[\r\n]+/)) {
      if (line.trim() === '') continue;
      options.note?.(line);
      if (/\berr(or)?\b/i.test(line) && !line.startsWith('npm http') && errors.length < KEPT_ERRORS) errors.push(line);
      else tail.push(line);
      if (tail.length > KEPT_LINES) tail.shift();
    }
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    lines(text);
  });
  child.stderr.setEncoding('utf8').on('data', lines);
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (exit, signal) => resolve(exit ?? signal ?? ''));
  });
  if (code === 0) return output;
  const ending = [`${command} ${args.join(' ')} → ${code}`, ...errors, ...tail].map((line) => `    ${line}`).join('\n');
  throw new Failure({ zh: `${options.failure.zh}\n${ending}`, en: `${options.failure.en}\n${ending}` });
}

/** The environment for npm, nx and their children: our Node first on PATH, no questions, nothing sent anywhere. */
export function toolEnv(): Record<string, string | undefined> {
  return {
    ...process.env,
    PATH: `${TOOLS}/node_modules/.bin:${process.env.PATH ?? '/usr/bin:/bin'}`,
    CI: 'true',
    NX_DAEMON: 'false',
    NX_TUI: 'false',
    npm_config_update_notifier: 'false',
  };
}
