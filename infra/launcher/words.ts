/** Everything a person reads exists in both languages. */
export interface Text {
  readonly zh: string;
  readonly en: string;
}

export type Locale = keyof Text;

/** The language of the terminal, by the order of setlocale(3). */
export function localeOf(env: Readonly<Record<string, string | undefined>>): Locale {
  const name = env.LC_ALL || env.LC_MESSAGES || env.LANG || '';
  return name.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

const locale: Locale = localeOf(process.env);

export function inWords(text: Text): string {
  return text[locale];
}
