/** What one cell of text can be read as, as bits, so that a column is the union of its cells. */
export const KIND = {
  integer: 1,
  number: 1 << 1,
  /** 1,234.5 */
  thousands: 1 << 2,
  /** 1.234,5 */
  decimalComma: 1 << 3,
  percent: 1 << 4,
  currency: 1 << 5,
  /** 20260101: an integer that is also a date. */
  compactDate: 1 << 6,
  date: 1 << 7,
  datetime: 1 << 8,
  time: 1 << 9,
  boolean: 1 << 10,
  /** Digits that are a name, not a quantity: leading zeros, more than 15 digits, 1E10. */
  id: 1 << 11,
  string: 1 << 12,
  /** A word or sign for “no value” that pandas does not know: `-`, `—`, 无. */
  missingMark: 1 << 13,
} as const;

/** How a date is written; the pattern for people, the format for `pd.to_datetime`. */
export const DATE_FORMS = [
  { pattern: 'YYYY-MM-DD', test: /^\d{4}-\d{1,2}-\d{1,2}$/, iso: true },
  { pattern: 'YYYY/M/D', test: /^\d{4}\/\d{1,2}\/\d{1,2}$/, iso: true },
  { pattern: 'YYYY.M.D', test: /^\d{4}\.\d{1,2}\.\d{1,2}$/, iso: false },
  { pattern: 'YYYY年M月D日', test: /^\d{4}\s?年\s?\d{1,2}\s?月\s?\d{1,2}\s?[日号]$/, iso: false },
  { pattern: 'YYYY年M月', test: /^\d{4}\s?年\s?\d{1,2}\s?月$/, iso: false },
  { pattern: 'YYYY-MM', test: /^\d{4}[-/]\d{1,2}$/, iso: false },
  { pattern: 'YYYYMMDD', test: /^\d{8}$/, iso: false },
  { pattern: 'D/M/Y | M/D/Y', test: /^\d{1,2}([/.-])\d{1,2}\1(?:\d{4}|\d{2})$/, iso: false },
  {
    pattern: 'D Mon YYYY',
    test: /^\d{1,2}[ -](?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ -]\d{2,4}$/i,
    iso: false,
  },
  {
    pattern: 'Mon D, YYYY',
    test: /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}, ?\d{4}$/i,
    iso: false,
  },
] as const;
const COMPACT_FORM = DATE_FORMS.findIndex((form) => form.pattern === 'YYYYMMDD');
export const AMBIGUOUS_FORM = DATE_FORMS.findIndex((form) => form.pattern.includes('|'));

/** Words that pandas reads as missing by itself. */
const MISSING = new Set([
  'NA',
  'N/A',
  'n/a',
  'NaN',
  'nan',
  '-NaN',
  '-nan',
  'NULL',
  'null',
  'None',
  '<NA>',
  '#N/A',
  '#NA',
  '#N/A N/A',
  '1.#IND',
  '1.#QNAN',
  '-1.#IND',
  '-1.#QNAN',
]);
const MISSING_MARKS = new Set([
  '-',
  '--',
  '—',
  '——',
  '–',
  '/',
  '\\',
  '无',
  '暂无',
  '空',
  '缺失',
  '?',
  '？',
  '...',
  '…',
  '#DIV/0!',
  '#REF!',
  '#VALUE!',
  '#NAME?',
  '#NUM!',
  '#NULL!',
]);
const BOOLEANS = new Set(['true', 'false', 'True', 'False', 'TRUE', 'FALSE']);

const PLAIN_NUMBER = /^[+-]?(?:\d+\.\d*|\.\d+)$/;
/** `1E10` without a point or sign is a product code as often as a number; with one it is a number. */
const SCIENTIFIC = /^[+-]?(?:\d+\.\d*[eE][+-]?\d{1,3}|\d+[eE][+-]\d{1,3}|\d+e\d{1,3})$/;
const CODE_LIKE_NUMBER = /^\d+E\d+$/;
const THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;
const DECIMAL_COMMA = /^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/;
const PERCENT = /^[+-]?\d{1,3}(?:,?\d{3})*(?:[.,]\d+)?\s?[%％‰]$/;
const CURRENCY =
  /^[+-]?\(?(?:[¥￥$€£₩₹]|RMB|CNY|USD|US\$|HK\$|NT\$)\s?[+-]?\d[\d,]*(?:\.\d+)?\)?$|^[+-]?\d[\d,]*(?:\.\d+)?\s?(?:元|円|€|万元|亿元)$/;
const TIME = /^\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?$/;
const TIME_AFTER_DATE =
  /^(.{6,13}?)(?:T|\s{1,2})\d{1,2}[:时]\d{1,2}(?:[:分]\d{1,2}(?:[.,]\d{1,9})?秒?|分)?\s?(?:Z|[AaPp][Mm]|[+-]\d{2}:?\d{2})?$/;
/** A cell longer than any number or date; looking closer would be work without end. */
const LONGEST_VALUE = 40;
const LONGEST_INTEGER = 15;

/** Answer of `quickKind` for a cell that needs the closer look of `kindOfCell`. */
export const UNDECIDED = -1;
export const ISO_FORM = 0;
const DASH = 45;
const POINT = 46;

/**
 * The kind of the commonest cells (digits, decimals, ISO dates) straight from the text, without a string of their own: a file of
 * 50 MiB has ten million of them. Everything else is `UNDECIDED`.
 */
export function quickKind(text: string, start: number, end: number): number {
  const length = end - start;
  if (length === 0) return 0;
  if (length > LONGEST_INTEGER) return UNDECIDED;
  let position = text.charCodeAt(start) === DASH ? start + 1 : start;
  const first = text.charCodeAt(position);
  if (first < 48 || first > 57 || position === end) return UNDECIDED;
  const digits = position;
  position = digitsFrom(text, position + 1, end);
  if (position === end) return (first === 48 && length > 1) || length === 8 ? UNDECIDED : KIND.integer;
  const sign = text.charCodeAt(position);
  const leading = position - digits;
  if (sign === POINT) {
    const whole = position + 1 < end && digitsFrom(text, position + 1, end) === end;
    return whole && (first !== 48 || leading === 1) ? KIND.number : UNDECIDED;
  }
  return sign === DASH && leading === 4 && length === 10 && digits === start && isIsoDay(text, start)
    ? KIND.date
    : UNDECIDED;
}

/** `YYYY-MM-DD` at `start`, with a month and day that exist; the first five characters are checked by the caller. */
function isIsoDay(text: string, start: number): boolean {
  const at = (offset: number) => text.charCodeAt(start + offset) - 48;
  if (at(7) !== DASH - 48) return false;
  const [a, b, c, d] = [at(5), at(6), at(8), at(9)];
  if (a < 0 || a > 1 || b < 0 || b > 9 || c < 0 || c > 3 || d < 0 || d > 9) return false;
  const [month, day] = [a * 10 + b, c * 10 + d];
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && at(0) > 0;
}

/** Kind of a cell as a bit of `KIND`; 0 for a missing value. `form` receives the index of the date's form. */
export function kindOfCell(raw: string, form?: (index: number) => void): number {
  const text = raw.trim();
  const length = text.length;
  if (length === 0) return 0;
  if (length > LONGEST_VALUE) return KIND.string;
  const first = text.charCodeAt(0);
  const digit = first >= 48 && first <= 57;
  if (digit || first === 45 || first === 43) {
    const digits = digitsFrom(text, digit ? 0 : 1, length);
    if (digits === length && (digit ? length : length - 1) > 0) return kindOfDigits(text, digit, form);
    if (PLAIN_NUMBER.test(text)) return leadingZero(text) ? KIND.id : KIND.number;
  }
  return kindOfOther(text, digit, form);
}

function digitsFrom(text: string, start: number, end: number): number {
  let position = start;
  while (position < end) {
    const code = text.charCodeAt(position);
    if (code < 48 || code > 57) break;
    position += 1;
  }
  return position;
}

function kindOfDigits(text: string, unsigned: boolean, form?: (index: number) => void): number {
  const digits = unsigned ? text.length : text.length - 1;
  if (digits > LONGEST_INTEGER) return KIND.id;
  if (digits > 1 && text.charCodeAt(unsigned ? 0 : 1) === 48) return KIND.id;
  if (unsigned && digits === 8 && isCompactDate(text)) {
    form?.(COMPACT_FORM);
    return KIND.compactDate;
  }
  return KIND.integer;
}

/** `007.5` is a code; `0.5` and `-0.5` are numbers. */
const leadingZero = (text: string) => /^[+-]?0\d/.test(text);

function isCompactDate(text: string): boolean {
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(4, 6)), Number(text.slice(6))];
  return year >= 1900 && year <= 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

function kindOfOther(text: string, digit: boolean, form?: (index: number) => void): number {
  if (MISSING.has(text)) return 0;
  if (MISSING_MARKS.has(text)) return KIND.missingMark;
  if (BOOLEANS.has(text)) return KIND.boolean;
  if (digit) {
    if (SCIENTIFIC.test(text)) return KIND.number;
    if (CODE_LIKE_NUMBER.test(text)) return KIND.id;
    if (TIME.test(text)) return KIND.time;
  }
  const date = kindOfDate(text, form);
  if (date) return date;
  if (PLAIN_NUMBER.test(text) || SCIENTIFIC.test(text)) return KIND.number;
  if (THOUSANDS.test(text)) return KIND.thousands;
  if (DECIMAL_COMMA.test(text)) return KIND.decimalComma;
  if (PERCENT.test(text)) return KIND.percent;
  if (CURRENCY.test(text)) return KIND.currency;
  return KIND.string;
}

function kindOfDate(text: string, form?: (index: number) => void): number {
  if (!/\d/.test(text)) return 0;
  const whole = dateForm(text);
  if (whole >= 0) {
    form?.(whole);
    return KIND.date;
  }
  const day = TIME_AFTER_DATE.exec(text)?.[1];
  const dated = day === undefined ? -1 : dateForm(day);
  if (dated < 0) return 0;
  form?.(dated);
  return KIND.datetime;
}

/** Index of the form whose pattern and bounds a text meets, or -1. `2026-13` is a range or a code, no month. */
function dateForm(text: string): number {
  const index = DATE_FORMS.findIndex((each) => each.test.test(text));
  if (index < 0) return -1;
  const parts = (text.match(/\d+/g) ?? []).map(Number);
  if (index === COMPACT_FORM) return isCompactDate(text) ? index : -1;
  if (index === AMBIGUOUS_FORM)
    return Math.min(parts[0]!, parts[1]!) <= 12 &&
      Math.max(parts[0]!, parts[1]!) <= 31 &&
      parts[0]! > 0 &&
      parts[1]! > 0
      ? index
      : -1;
  if (index > AMBIGUOUS_FORM) return parts[0]! >= 1 && parts[0]! <= 31 ? index : -1;
  const [year, month, day] = [parts[0]!, parts[1] ?? 1, parts[2] ?? 1];
  return year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 31 ? index : -1;
}
