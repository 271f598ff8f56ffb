/** What a cell's number means by its format. */
export type FormatKind = 'general' | 'text' | 'percent' | 'date' | 'datetime' | 'time';

/** Built-in formats by id (ECMA-376 18.8.30, with the East Asian ones from 27). */
const BUILT_IN: Readonly<Record<number, FormatKind>> = Object.fromEntries([
  ...[9, 10].map((id) => [id, 'percent']),
  [49, 'text'],
  [22, 'datetime'],
  ...[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, 'date']),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56].map((id) => [id, 'time']),
]);

/** The kind of a format by its id, with its code for custom ones. */
export function formatKind(id: number, code: string | undefined): FormatKind {
  if (code === undefined) return BUILT_IN[id] ?? 'general';
  const section = code.split(';')[0]!;
  const elapsed = /\[[hms]+\]/i.test(section);
  // Quoted text, escaped and padding characters, colours, conditions and locales show as they are and mean nothing.
  const bare = section.replaceAll(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/g, '').replaceAll(/general|am\/pm|a\/p/gi, '');
  const time = elapsed || /[hs]/i.test(bare);
  const day = /[yd]/i.test(bare) || (/m/i.test(bare) && !time);
  if (day) return time ? 'datetime' : 'date';
  if (time) return 'time';
  if (bare.includes('%')) return 'percent';
  return bare.trim() === '@' ? 'text' : 'general';
}

const DAY_MS = 86_400_000;
/** Days from the start of the 1900 system to 1970, and by how much the 1904 system starts later. */
const UNIX_EPOCH = 25_569;
const SYSTEM_1904 = 1462;

/** A date number of a workbook as ISO text in the given kind; the number as it is where it is no date. */
export function dateText(value: string, kind: 'date' | 'datetime' | 'time', date1904: boolean): string {
  const serial = Number(value) + (date1904 ? SYSTEM_1904 : 0);
  // The 1900 system counts a 29 February 1900 that never was: before it, every number is a day short.
  const days = !date1904 && serial >= 1 && serial < 60 ? serial + 1 : serial;
  const moment = new Date(Math.round(((days - UNIX_EPOCH) * DAY_MS) / 1000) * 1000);
  if (value.trim() === '' || Number.isNaN(moment.getTime())) return value;
  const iso = moment.toISOString();
  if (iso.length !== 24) return value;
  if (kind === 'time') return iso.slice(11, 19);
  return kind === 'date' ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}
