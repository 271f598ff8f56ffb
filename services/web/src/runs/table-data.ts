import type { Cell, TableDisplay } from '../api/types.ts';

export type SortDirection = 'ascending' | 'descending';

const numericTypes = /^(u?int|float|number|decimal|double|complex)/i;

/** Whether a column holds numbers: by its type, or because every cell that says something is one. */
export function isNumeric(table: TableDisplay, column: number): boolean {
  if (numericTypes.test(table.columns[column]?.type ?? '')) return true;
  let seen = false;
  for (const row of table.rows) {
    const cell = row[column];
    if (cell === null || cell === undefined) continue;
    if (typeof cell !== 'number') return false;
    seen = true;
  }
  return seen;
}

/** Order of the rows by one column; equal rows keep their order, empty cells stand last either way. */
export function sortedRows(table: TableDisplay, column: number, direction: SortDirection): readonly Cell[][] {
  const sign = direction === 'ascending' ? 1 : -1;
  return table.rows.toSorted((a, b) => {
    const left = a[column] ?? null;
    const right = b[column] ?? null;
    if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
    return sign * compareCells(left, right);
  });
}

function compareCells(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  // A number too long for JSON comes as text with all its digits.
  if (typeof a === 'number' || typeof b === 'number') {
    const difference = Number(a) - Number(b);
    if (!Number.isNaN(difference)) return difference;
  }
  // By code unit: a Chinese collation of 100,000 rows takes longer than a click may.
  const left = String(a);
  const right = String(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * A CSV file for spreadsheets: RFC 4180 with CRLF. The byte order mark tells them that it is UTF-8; without it Chinese comes out broken. A sign that
 * they take for a formula is put in as text.
 */
export function toCsv(table: TableDisplay, rows: readonly Cell[][]): string {
  const lines = [table.columns.map((column) => csvField(column.name)), ...rows.map((row) => row.map(csvField))];
  return `\ufeff${lines.map((line) => line.join(',')).join('\r\n')}\r\n`;
}

function csvField(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const risky = /^[=@\t\r]/.test(cell) || (/^[+-]/.test(cell) && Number.isNaN(Number(cell)));
  const text = risky ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Tab-separated, as spreadsheets take it from the clipboard. */
export function toTsv(table: TableDisplay, rows: readonly Cell[][]): string {
  const field = (cell: Cell | undefined) =>
    cell === null || cell === undefined ? '' : String(cell).replace(/[\t\r\n]+/g, ' ');
  return [table.columns.map((column) => field(column.name)), ...rows.map((row) => row.map(field))]
    .map((line) => line.join('\t'))
    .join('\n');
}
