import { CsvScanner } from './csv-scanner.ts';

export interface Dialect {
  /** Null for a single column. */
  readonly delimiter: string | null;
  /** Excel's `sep=;` line stands before the data. */
  readonly sepLine: boolean;
  /** Share of the first records that have the usual number of fields, 0 to 1. */
  readonly steadiness: number;
  /** Number of the first records, and their usual number of fields. */
  readonly records: number;
  readonly width: number;
}

/** In the order of trust where two explain the text equally well: a comma is also punctuation and part of numbers. */
const DELIMITERS = ['\t', ';', '|', ',', '，'] as const;
const SEP_LINE = /^sep=(.)\r?\n/i;
const MOST_RECORDS = 300;
/** Below this share the lines do not agree on any number of fields: it is one column of text. */
const LEAST_STEADY = 0.5;

/** Finds the delimiter from the first characters of a text: the one that gives the steadiest number of fields above one. */
export function guessDialect(head: string, whole: boolean, preferred?: string): Dialect {
  const declared = SEP_LINE.exec(head);
  const text = declared ? head.slice(declared[0].length) : head;
  const candidates = declared ? [declared[1]!] : [...DELIMITERS];
  const scored = candidates.map((delimiter) => ({ delimiter, ...measure(text, whole, delimiter) }));
  const score = (each: (typeof scored)[number]) =>
    each.width < 2 ? 0 : each.steadiness + (each.firstAgrees ? 0.2 : 0) + (each.delimiter === preferred ? 0.3 : 0);
  const best = scored.reduce((a, b) => (score(b) > score(a) + 0.02 ? b : a));
  const found = declared !== null || (best.width > 1 && best.steadiness >= LEAST_STEADY);
  return {
    delimiter: found ? best.delimiter : null,
    sepLine: declared !== null,
    steadiness: found ? best.steadiness : 1,
    records: best.records,
    width: found ? best.width : 1,
  };
}

function measure(
  text: string,
  whole: boolean,
  delimiter: string,
): { width: number; steadiness: number; firstAgrees: boolean; records: number } {
  let widths = widthsOf(text, whole, delimiter, true);
  // A stray quote at the start of a cell swallows all that follows; then lines tell more than quotes.
  if (widths.length < 3) widths = longer(widths, widthsOf(text, whole, delimiter, false));
  const counts = new Map<number, number>();
  for (const width of widths) if (width > 1) counts.set(width, (counts.get(width) ?? 0) + 1);
  const [width, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [1, 0]);
  return {
    width,
    steadiness: widths.length === 0 ? 1 : count / widths.length,
    firstAgrees: widths[0] === width,
    records: widths.length,
  };
}

const longer = (a: number[], b: number[]) => (b.length > a.length + 2 ? b : a);

function widthsOf(text: string, whole: boolean, delimiter: string, quoting: boolean): number[] {
  const widths: number[] = [];
  const scanner = new CsvScanner(delimiter, quoting, (record) => {
    widths.push(record.count);
    return widths.length < MOST_RECORDS;
  });
  // The last line of a cut head is not whole; one without any line end is all there is.
  if (scanner.push(text) && (whole || widths.length === 0)) scanner.finish();
  return widths;
}
