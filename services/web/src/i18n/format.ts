import type { TableSniff } from '../api/types.ts';
import { locale, t } from './i18n.ts';

const tag = () => (locale.value === 'zh' ? 'zh-CN' : 'en-US');

/** 1204 → "1,204". */
export function formatNumber(value: number, digits = 0): string {
  return new Intl.NumberFormat(tag(), { maximumFractionDigits: digits, minimumFractionDigits: 0 }).format(value);
}

const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** Bytes as people read them, powers of 1024: 49357 → "48.2 KB". */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${formatNumber(value, unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}

/** "48.2 KB" of two sizes in one unit: "18.9 / 30.4 MB". */
export function formatProgress(done: number, total: number): string {
  const whole = formatBytes(total);
  const unit = units.indexOf(whole.split(' ')[1] as (typeof units)[number]);
  return `${formatNumber(done / 1024 ** unit, unit === 0 ? 0 : 1)} / ${whole}`;
}

/** Milliseconds as people read them: "7 ms", "0.4 s", "12 s", "2 min 5 s". */
export function formatDuration(ms: number): string {
  if (ms < 100) return t('duration.ms', { n: formatNumber(Math.round(ms)) });
  const seconds = ms / 1000;
  if (seconds < 60) return t('duration.s', { n: formatNumber(seconds, seconds < 10 ? 1 : 0) });
  const whole = Math.round(seconds);
  return t('duration.minS', { min: Math.floor(whole / 60), s: whole % 60 });
}

/** Time of day for today, else the date; with the year when it is another one. */
export function formatWhen(iso: string, now = new Date()): string {
  const date = new Date(iso);
  if (date.toDateString() === now.toDateString()) {
    return new Intl.DateTimeFormat(tag(), { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(date);
  }
  const year = date.getFullYear() === now.getFullYear() ? undefined : ('numeric' as const);
  return new Intl.DateTimeFormat(tag(), { year, month: 'short', day: 'numeric' }).format(date);
}

/** The facts about a table, the same everywhere: "GBK · 5 columns · 1,204 rows". */
export function formatTable(table: TableSniff): string {
  const facts = [
    t('file.columns', { n: formatNumber(table.columns.length) }, table.columns.length),
    t('file.rows', { n: formatNumber(table.rows) }, table.rows),
  ];
  if (table.encoding) facts.unshift(encodingName(table.encoding));
  return facts.join(' · ');
}

/** Names of encodings as people know them. */
function encodingName(encoding: string): string {
  const known: Record<string, string> = {
    'utf-8-sig': 'UTF-8',
    big5: 'Big5',
    shift_jis: 'Shift-JIS',
  };
  return known[encoding.toLowerCase()] ?? encoding.toUpperCase();
}
