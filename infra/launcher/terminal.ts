import { inWords, type Text } from './words.ts';

const out = process.stderr;
// NO_COLOR is the convention of no-color.org.
const colour = out.isTTY === true && !process.env.NO_COLOR;
const paint = (code: number, text: string): string => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

/** A message for a person, on standard error. */
export function say(text: Text): void {
  out.write(`${inWords(text)}\n`);
}

/** A result for programs and people, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** An error that nobody foresaw: what it says, and where it came from for a report. */
export function explain(error: unknown): void {
  const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
  say({
    zh: `启动器出错，这是 Moli 的问题：\n${shown}`,
    en: `The launcher failed, which is a fault of Moli:\n${shown}`,
  });
}

/** Asks a question that is answered by Enter (yes) or n. Without a terminal the answer is yes. */
export async function agree(text: Text): Promise<boolean> {
  if (!process.stdin.isTTY || !out.isTTY) return true;
  const { createInterface } = await import('node:readline/promises');
  const ask = createInterface({ input: process.stdin, output: out });
  try {
    return !/^\s*(n|no|否|不)\s*$/i.test(await ask.question(`${inWords(text)} [Y/n] `));
  } finally {
    ask.close();
  }
}

/**
 * Runs one step with its name and time. On a terminal the line moves while it works and shows the last note; elsewhere a step that takes
 * longer than 2 s says that it started, and each says when it is done.
 */
export async function step<T>(name: Text, work: (note: (line: string) => void) => Promise<T>): Promise<T> {
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  const label = inWords(name);
  let last = '';
  const draw = () => {
    const width = Math.max(20, (out.columns ?? 80) - label.length * 2 - 16);
    out.write(`\r\u001b[2K${paint(36, '·')} ${label}  ${paint(2, `${seconds()}  ${last.slice(0, width)}`)}`);
  };
  const timer = out.isTTY ? setInterval(draw, 120) : setTimeout(() => out.write(`· ${label} …\n`), 2_000);
  const done = (mark: string) => {
    clearInterval(timer);
    out.write(`${out.isTTY ? '\r\u001b[2K' : ''}${mark} ${label}  ${paint(2, seconds())}\n`);
  };
  try {
    const value = await work((line) => {
      last = line.trim();
    });
    done(paint(32, '✓'));
    return value;
  } catch (error) {
    done(paint(31, '✗'));
    throw error;
  }
}
