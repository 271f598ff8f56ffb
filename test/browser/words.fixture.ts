import { en } from '../../services/web/src/i18n/en.ts';
import { zh } from '../../services/web/src/i18n/zh.ts';

export type Locale = 'zh' | 'en';

const MESSAGES = { zh, en };

/** The text of the interface for a key such as `run.python.ok`, as the page shows it: values put in, the plural form chosen. */
export function words(locale: Locale, key: string, values: Readonly<Record<string, string | number>> = {}): string {
  return form(locale, key, values.n).replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}

/** A pattern for the text of a key, whatever its values are. */
export function pattern(locale: Locale, key: string): RegExp {
  const forms = textOf(locale, key)
    .split(' | ')
    .map((text) => text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '.+'));
  return new RegExp(`^(?:${forms.join('|')})$`);
}

function form(locale: Locale, key: string, count: string | number | undefined): string {
  const [one = '', many] = textOf(locale, key).split(' | ');
  return many !== undefined && Number(count) !== 1 ? many : one;
}

function textOf(locale: Locale, key: string): string {
  let found: unknown = MESSAGES[locale];
  for (const name of key.split('.')) found = (found as Record<string, unknown> | undefined)?.[name];
  if (typeof found !== 'string') throw new Error(`the interface has no words for ${key}`);
  return found;
}
