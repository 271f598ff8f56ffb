import { KIND } from './cell-kind.ts';
import { ColumnProfile } from './column-profile.ts';

/** One cell of the first rows: its text, and what it can be read as (`KIND`, 0 for empty). */
export interface GridCell {
  readonly text: string;
  readonly kind: number;
}
export type GridRow = readonly GridCell[];

export interface HeaderGuess {
  /** Rows above the header (or above the data where there is none): titles and remarks. */
  readonly skipped: number;
  readonly header: boolean;
  /** The guess could be wrong; the reader of the description should hear of it. */
  readonly doubtful: boolean;
}

/** Titles and remarks above a table rarely take more lines. */
const MOST_SKIPPED = 20;
/** Words that stand in headers of tables, in Chinese and English. */
const HEADER_WORD =
  /^(?:id|no\.?|name|date|time|type|code|key|value|city|region|status|count|amount|price|total)$|(?:名|名称|日期|时间|年份|月份|编号|编码|代码|号|类型|类别|金额|数量|单价|价格|地区|区域|部门|城市|产品|备注|说明|状态|性别|电话|地址|_id|_name|_date)$/i;

const filled = (row: GridRow) => row.reduce((count, cell) => (cell.text.trim() === '' ? count : count + 1), 0);

/** Finds titles above a table, and whether its first row names the columns. `rows` are the first ones, up to a few hundred. */
export function guessHeader(rows: readonly GridRow[]): HeaderGuess {
  const skipped = guessTitles(rows);
  const first = rows[skipped];
  if (!first) return { skipped, header: false, doubtful: false };
  return { skipped, ...namesColumns(first, rows.slice(skipped + 1)) };
}

/** How many of the first rows are titles or remarks above a table. */
export function guessTitles(rows: readonly GridRow[]): number {
  const counts = rows.map(filled);
  const usual = counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0;
  let skipped = 0;
  while (skipped < Math.min(counts.length - 1, MOST_SKIPPED) && counts[skipped]! <= 2 && counts[skipped]! * 2 < usual)
    skipped += 1;
  return skipped;
}

/** Whether a row names the columns of the rows below it. */
export function namesColumns(first: GridRow, data: readonly GridRow[]): { header: boolean; doubtful: boolean } {
  const texts = first.filter((cell) => isName(cell)).length;
  if (data.length === 0) return { header: texts > 0 && texts === filled(first), doubtful: false };
  let [forHeader, forData] = [0, 0];
  first.forEach((cell, column) => {
    if (cell.kind === 0) return;
    const profile = new ColumnProfile();
    for (const row of data) profile.addKind(row[column]?.kind ?? 0);
    const above = new ColumnProfile();
    above.addKind(cell.kind);
    if (isName(cell)) {
      if (profile.type !== 'string' && profile.type !== 'empty') forHeader += 1;
      // A value of the first row that comes again below it is a value.
      else if (data.some((row) => row[column]?.text === cell.text)) forData += 1;
    } else if (sameClass(above.type, profile.type)) forData += 1;
  });
  if (forData === 0)
    return {
      header: texts > 0,
      doubtful: texts > 0 && forHeader === 0 && !first.some((cell) => HEADER_WORD.test(cell.text.trim())),
    };
  if (texts > 0 && namesYears(first)) return { header: true, doubtful: true };
  return { header: forHeader > forData, doubtful: forHeader > 0 || texts === filled(first) };
}

const isName = (cell: GridCell) => (cell.kind & KIND.string) !== 0;

const NUMBERS = new Set(['integer', 'number']);
const DAYS = new Set(['date', 'datetime']);
const sameClass = (a: string, b: string) =>
  a === b || (NUMBERS.has(a) && NUMBERS.has(b)) || (DAYS.has(a) && DAYS.has(b));

/** 地区, 2024, 2025, 2026: numbers that name columns, since they count years. */
function namesYears(first: GridRow): boolean {
  const numbers = first.filter((cell) => cell.kind !== 0 && !isName(cell)).map((cell) => Number(cell.text));
  return (
    numbers.length > 1 &&
    numbers.every((year, n) => year >= 1900 && year <= 2100 && (n === 0 || year === numbers[n - 1]! + 1))
  );
}

/** A column name of a megabyte helps nobody. */
const LONGEST_NAME = 200;

export interface ColumnNames {
  readonly names: readonly string[];
  readonly duplicates: readonly string[];
  readonly unnamed: number;
  /** Names with blanks at an end: invisible, and needed to the letter in code. */
  readonly padded: readonly string[];
}

/** Names as pandas gives them, so that code written from a description finds its columns: `x`, `x.1`, `Unnamed: 3`. */
export function pandasNames(cells: readonly string[], width: number): ColumnNames {
  const given = new Set(cells);
  const taken = new Set<string>();
  const duplicates = new Set<string>();
  const padded: string[] = [];
  let unnamed = 0;
  const names = Array.from({ length: width }, (_, column) => {
    const text = cells[column] ?? '';
    const cut = text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
    if (cut.trim() === '') unnamed += 1;
    else if (cut !== cut.trim()) padded.push(cut);
    const base = cut.trim() === '' ? `Unnamed: ${column}` : cut;
    let name = base;
    for (let turn = 1; taken.has(name) || (turn > 1 && given.has(name)); turn += 1) {
      duplicates.add(base);
      name = `${base}.${turn}`;
    }
    taken.add(name);
    return name;
  });
  return { names, duplicates: [...duplicates], unnamed, padded };
}
