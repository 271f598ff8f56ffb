import type { Locale } from '@moli/errors';

/** Room for the description of one file, in bytes of UTF-8. */
const MAX_FILE_BYTES = 4096;
/** Earlier outputs that are named; the newest ones. */
const MAX_OUTPUTS = 50;

const WORDS = {
  zh: {
    files: '本会话的文件（在程序的工作目录里，按名字打开；这里只有说明，没有内容）：',
    outputs: '本会话中之前的程序产出的文件（同样可以按名字打开）：',
    links: '要指向某个产出文件时写成 [文件名](sandbox:/mnt/data/文件名)。',
  },
  en: {
    files:
      'Files of this session (in the working folder of your programs, to be opened by name; these are descriptions, not contents):',
    outputs: 'Files that earlier programs of this session made (to be opened by name as well):',
    links: 'To point at a file that was made write [name](sandbox:/mnt/data/name).',
  },
} as const;

/** A text cut to so many bytes of UTF-8, never inside a character. */
function cutBytes(text: string, bytes: number): string {
  const whole = Buffer.from(text);
  if (whole.length <= bytes) return text;
  const kept = new TextDecoder('utf-8').decode(whole.subarray(0, bytes - 3), { stream: true });
  return `${kept}…`;
}

export interface SystemMessageParts {
  /** The agent's prompt with its variables filled in. */
  readonly prompt: string;
  /** What the model is told of each file; never its bytes. */
  readonly files: readonly string[];
  /** Names of artifacts, oldest first. */
  readonly outputs: readonly string[];
  readonly locale: Locale;
}

/** Instructions and the list of files: the first message of every request. */
export function systemMessage({ prompt, files, outputs, locale }: SystemMessageParts): string {
  const words = WORDS[locale];
  const sections = [prompt.trim()];
  if (files.length > 0)
    sections.push([words.files, ...files.map((file) => cutBytes(file, MAX_FILE_BYTES))].join('\n\n'));
  const names = [...new Set(outputs)].slice(-MAX_OUTPUTS);
  if (names.length > 0) sections.push([words.outputs, ...names.map((name) => `- ${name}`), words.links].join('\n'));
  return sections.filter((section) => section !== '').join('\n\n');
}

/** Asks for the rest of an answer that was cut short; the answer so far is the message before. */
export const GO_ON: Readonly<Record<Locale, string>> = {
  zh: '上面的回答中途断了。请从断开的地方接着写下去，不要重复已经写过的内容，也不要说明你在继续。',
  en: 'The answer above was cut short. Go on writing from exactly where it stops. Do not repeat anything and do not say that you are going on.',
};
