import { parseArgs } from 'node:util';
import type { Locale } from '@moli/errors';

/** The reader's language on a terminal, from LC_ALL, LC_MESSAGES, LANG in this order. */
export function terminalLocale(env: Readonly<Record<string, string | undefined>>): Locale {
  const text = env.LC_ALL || env.LC_MESSAGES || env.LANG || '';
  return text.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

/** Wrong usage: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly detail: Readonly<Record<Locale, string>>;

  constructor(detail: Record<Locale, string>) {
    super(detail.en);
    this.detail = detail;
  }
}

export interface Parsed {
  readonly positionals: readonly string[];
  readonly options: Readonly<Record<string, string | undefined>>;
}

/** Positionals and `--name value` options; unknown options are wrong usage. */
export function parse(argv: readonly string[], names: readonly string[]): Parsed {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
      allowPositionals: true,
      strict: true,
    });
    return { positionals, options: values as Record<string, string | undefined> };
  } catch (error) {
    const message = (error as Error).message.split('\n')[0];
    throw new UsageError({ zh: `参数不对：${message}`, en: `Wrong usage: ${message}` });
  }
}
