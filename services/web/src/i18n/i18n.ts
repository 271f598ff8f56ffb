import { computed, type WritableComputedRef } from 'vue';
import { createI18n } from 'vue-i18n';
import type { Locale } from '../api/types.ts';
import { readPreference, writePreference } from '../preferences/storage.ts';
import { en } from './en.ts';
import { zh } from './zh.ts';

const stored = readPreference<Locale | null>('locale', null);
const initial: Locale = stored ?? (navigator.language.startsWith('zh') ? 'zh' : 'en');

export const i18n = createI18n({
  legacy: false,
  locale: initial,
  fallbackLocale: 'en',
  messages: { zh, en },
});

const current = i18n.global.locale as unknown as WritableComputedRef<Locale>;

/** The language of the page; setting it also remembers it and sets `<html lang>`, on which line height and quotes hang. */
export const locale = computed<Locale>({
  get: () => current.value,
  set(value) {
    current.value = value;
    writePreference('locale', value);
    document.documentElement.lang = value === 'zh' ? 'zh-CN' : 'en';
  },
});

/** Without the union of all keys, which is too deep for the type checker; the test of the keys does that work. */
const translate = i18n.global.t as unknown as (key: string, values: Record<string, unknown>, plural?: number) => string;

/** A text of the interface. With a number, the plural form for it. */
export function t(key: string, values: Record<string, unknown> = {}, plural?: number): string {
  return plural === undefined ? translate(key, values) : translate(key, values, plural);
}
