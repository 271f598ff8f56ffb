import { expect, test } from 'vitest';
import { localeOf } from './locale.ts';

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['*', 'en'],
  ['zh', 'zh'],
  ['zh-Hant-TW', 'zh'],
  ['en-US,en;q=0.9,zh-CN;q=0.8', 'en'],
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
  ['fr;q=1, zh;q=0.3, en;q=0.4', 'en'],
  ['zh;q=0, en;q=0.1', 'en'],
  ['zhuang', 'en'],
  ['de, fr', 'en'],
  [['de', 'zh'], 'zh'],
  [`${'x,'.repeat(100_000)}zh`, 'en'],
])('%j reads %s', (header, locale) => {
  expect(localeOf(header as string)).toBe(locale);
});
