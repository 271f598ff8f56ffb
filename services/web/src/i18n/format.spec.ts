// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from 'vitest';
import { formatBytes, formatDuration, formatNumber, formatProgress, formatTable, formatWhen } from './format.ts';
import { locale } from './i18n.ts';

afterEach(() => {
  locale.value = 'zh';
});

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [214, '214 B'],
    [1023, '1,023 B'],
    [1024, '1 KB'],
    [49_357, '48.2 KB'],
    [52_428_800, '50 MB'],
    [90_177_536, '86 MB'],
    [1_048_575, '1 MB'],
    [5_368_709_120, '5 GB'],
  ])('%d → %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it('puts both numbers of a progress in one unit', () => {
    expect(formatProgress(19_818_086, 31_876_710)).toBe('18.9 / 30.4 MB');
  });
});

describe('formatDuration', () => {
  it.each([
    [7, '7 毫秒', '7 ms'],
    [412, '0.4 秒', '0.4 s'],
    [12_345, '12 秒', '12 s'],
    [125_000, '2 分 5 秒', '2 min 5 s'],
  ])('%d → %s, %s', (ms, chinese, english) => {
    locale.value = 'zh';
    expect(formatDuration(ms)).toBe(chinese);
    locale.value = 'en';
    expect(formatDuration(ms)).toBe(english);
  });
});

describe('formatWhen', () => {
  const now = new Date(2026, 10, 30, 20, 0);
  it('says the time today, the date before, the year in other years', () => {
    locale.value = 'en';
    expect(formatWhen(new Date(2026, 10, 30, 14, 6).toISOString(), now)).toBe('14:06');
    expect(formatWhen(new Date(2026, 10, 24).toISOString(), now)).toBe('Nov 24');
    expect(formatWhen(new Date(2025, 0, 2).toISOString(), now)).toBe('Jan 2, 2025');
    locale.value = 'zh';
    expect(formatWhen(new Date(2026, 10, 24).toISOString(), now)).toBe('11月24日');
  });
});

describe('formatTable', () => {
  const table = {
    encoding: 'gbk',
    delimiter: ',',
    columns: Array.from({ length: 5 }, () => ({ name: 'x', type: 'text' })),
    rows: 1204,
  };
  it('gives the facts in the language of the reader', () => {
    locale.value = 'zh';
    expect(formatTable(table)).toBe('GBK · 5 列 · 1,204 行');
    locale.value = 'en';
    expect(formatTable(table)).toBe('GBK · 5 columns · 1,204 rows');
    expect(formatTable({ ...table, encoding: null, columns: [{ name: 'x', type: 'text' }], rows: 1 })).toBe(
      '1 column · 1 row',
    );
  });
  it.each([
    ['utf-8-sig', 'UTF-8'],
    ['utf-8', 'UTF-8'],
    ['gb18030', 'GB18030'],
    ['utf-16le', 'UTF-16LE'],
    ['big5', 'Big5'],
    ['shift_jis', 'Shift-JIS'],
  ])('calls the encoding %s what people call it', (encoding, name) => {
    locale.value = 'en';
    expect(formatTable({ ...table, encoding })).toBe(`${name} · 5 columns · 1,204 rows`);
  });
  it('groups numbers', () => {
    expect(formatNumber(1_234_567)).toBe('1,234,567');
  });
});
