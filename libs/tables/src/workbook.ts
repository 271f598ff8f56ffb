import { AppError } from '@moli/errors';
import type { Archive } from './archive.ts';
import { KIND } from './cell-kind.ts';
import { ColumnProfile } from './column-profile.ts';
import type { Column, Note, Preview, Sheet, Table } from './description.ts';
import { guessTitles, namesColumns, pandasNames } from './header-guess.ts';
import { type HeadRow, SheetScanner } from './sheet-scanner.ts';
import { columnNotes, headerDoubt, headerOnly, nameNotes, noHeader } from './table-notes.ts';
import * as notes from './workbook-notes.ts';
import { readParts, readSharedStrings, type SheetPart, type WorkbookParts } from './workbook-parts.ts';

/** Sheets that are looked into; the others are named only. */
const MOST_SHEETS = 50;
const PREVIEW = { rows: 5, columns: 50, characters: 100 };

export interface Workbook {
  readonly table?: Table;
  readonly sheets: readonly Sheet[];
  readonly notes: readonly Note[];
  readonly preview?: Preview;
}

interface Scanned {
  readonly sheet: SheetPart;
  readonly scan: SheetScanner;
  readonly whole: boolean;
}

/** Describes the sheets of a workbook. `table` and `preview` are of the first sheet that holds anything. */
export async function describeWorkbook(archive: Archive, fileName: string): Promise<Workbook> {
  const parts = await readParts(archive);
  if (parts.sheets.length === 0) throw noSheets(fileName);
  const scanned = await scanSheets(archive, parts);
  const strings = await readSharedStrings(archive, parts.sharedStrings, sharedNumbers(scanned));
  for (const { scan } of scanned) fillShared(scan.head, strings);
  const described = scanned.map((each) => describeSheet(each, scanned.length > 1));
  const first = described.find((each) => each.sheet.columns.length > 0);
  const all = described.flatMap((each) => each.notes);
  if (parts.date1904) all.unshift(notes.date1904());
  if (parts.sheets.length > MOST_SHEETS) all.push(notes.moreSheets(MOST_SHEETS, parts.sheets.length));
  const sheets = described.map((each) => each.sheet);
  if (!first) return { sheets, notes: all };
  const { columns, rows } = first.sheet;
  return { sheets, notes: all, preview: first.preview, table: { encoding: null, delimiter: null, columns, rows } };
}

async function scanSheets(archive: Archive, parts: WorkbookParts): Promise<Scanned[]> {
  const scanned: Scanned[] = [];
  for (const sheet of parts.sheets.slice(0, MOST_SHEETS)) {
    const scan = new SheetScanner(parts);
    const whole = sheet.part === null || (await archive.readXml(sheet.part, scan));
    scanned.push({ sheet, scan, whole });
  }
  return scanned;
}

function sharedNumbers(scanned: readonly Scanned[]): Set<number> {
  const cells = scanned.flatMap(({ scan }) => scan.head.flatMap((row) => [...row.cells.values()]));
  return new Set(cells.flatMap((cell) => cell.shared ?? []));
}

function fillShared(head: readonly HeadRow[], strings: ReadonlyMap<number, string>): void {
  for (const row of head)
    for (const cell of row.cells.values()) if (cell.shared !== null) cell.text = strings.get(cell.shared) ?? '';
}

interface Described {
  readonly sheet: Sheet;
  readonly notes: readonly Note[];
  readonly preview: Preview;
}

function describeSheet({ sheet, scan, whole }: Scanned, several: boolean): Described {
  const { name, hidden } = sheet;
  const on = several ? name : null;
  if (scan.used.size === 0) {
    const empty = { name, hidden, columns: [], rows: 0, headerRows: null };
    const why = sheet.part === null ? notes.chartSheet(name) : whole ? notes.emptySheet(name) : notes.notRead(name);
    return { sheet: empty, notes: [why], preview: { columns: [], rows: [] } };
  }
  const left = Math.min(...scan.used);
  const width = Math.max(...scan.used) - left + 1;
  const header = findHeader(scan, left, width);
  const names = header.names ? pandasNames(header.names, width) : null;
  const columnNames = names?.names ?? Array.from({ length: width }, (_, n) => `column_${n + 1}`);
  const data = scan.head.slice(header.end);
  const profiles = profilesOf(scan, data, left, width);
  const counted = scan.filledRows - header.end;
  const claimed = whole ? 0 : scan.claimedRows - (scan.head[header.end - 1]?.number ?? 0);
  const rows = Math.max(counted, claimed);
  const lastHeader = scan.head[header.end - 1]?.number;
  const headerRows = header.names ? { first: scan.head[header.skipped]!.number, last: lastHeader! } : null;
  const columns: Column[] = columnNames.map((column, n) => ({ name: column, type: profiles[n]!.type }));
  const found = [
    ...(hidden ? [notes.hiddenSheet(name)] : []),
    ...(headerRows && headerRows.last > 1 ? [notes.headerAt(on, headerRows)] : []),
    ...(header.names ? [] : [notes.onSheet(on, noHeader(header.doubtful))]),
    ...(header.names && header.doubtful && counted > 0 ? [notes.onSheet(on, headerDoubt())] : []),
    ...(rows === 0 ? [notes.onSheet(on, headerOnly())] : []),
    ...(left > 0 ? [notes.startsAt(on, left)] : []),
    ...blockNotes(on, scan, left, width),
    ...(names ? nameNotes(names).map((each) => notes.onSheet(on, each)) : []),
    ...(whole ? [] : [notes.partlyRead(name, claimed > counted)]),
    ...formulaNotes(on, scan, columnNames, left),
    ...mergeNotes(on, scan, lastHeader ?? 0),
    ...textNotes(on, scan, data, columns, left),
    ...columnNotes(columnNames, profiles, false).map((each) => notes.onSheet(on, each)),
  ];
  const preview = {
    columns: columnNames.slice(0, PREVIEW.columns),
    rows: data
      .slice(0, PREVIEW.rows)
      .map((row) =>
        gridRow(row, left, Math.min(width, PREVIEW.columns)).map((cell) => cell.text.slice(0, PREVIEW.characters)),
      ),
  };
  return { sheet: { name, hidden, columns, rows, headerRows }, notes: found, preview };
}

const EMPTY = { text: '', kind: 0 };
const gridRow = (row: HeadRow, left: number, width: number) =>
  Array.from({ length: width }, (_, n) => row.cells.get(left + n) ?? EMPTY);

interface SheetHeader {
  /** Kept rows above the header. */
  readonly skipped: number;
  /** Kept rows up to and with the header. */
  readonly end: number;
  readonly names: readonly string[] | null;
  readonly doubtful: boolean;
}

function findHeader(scan: SheetScanner, left: number, width: number): SheetHeader {
  const grid = scan.head.map((row) => gridRow(row, left, width));
  const skipped = guessTitles(grid);
  const lines = headerLines(scan, skipped, width);
  const guess = namesColumns(grid[skipped]!, grid.slice(skipped + lines));
  if (!guess.header && lines === 1) return { skipped, end: skipped, names: null, doubtful: guess.doubtful };
  const names = Array.from({ length: width }, (_, n) => joinedName(scan, skipped, lines, left + n));
  return { skipped, end: skipped + lines, names, doubtful: lines === 1 && guess.doubtful };
}

/** A header goes on in the next row where one of its cells spans some, but not all, columns and the row below holds only texts. */
function headerLines(scan: SheetScanner, first: number, width: number): number {
  let lines = 1;
  while (lines < 4 && first + lines < scan.head.length - 1) {
    const row = scan.head[first + lines - 1]!.number;
    const spans = scan.merges.some(
      (merge) =>
        merge.top <= row && merge.bottom >= row && merge.right > merge.left && merge.right - merge.left + 1 < width,
    );
    const below = scan.head[first + lines]!;
    const texts = [...below.cells.values()].every(
      (cell) => cell.kind === 0 || cell.shared !== null || Number.isNaN(Number(cell.text)),
    );
    if (!spans || !texts || below.number !== row + 1) break;
    lines += 1;
  }
  return lines;
}

/** 一月/数量 for a column under 一月 (which spans two) and 数量. */
function joinedName(scan: SheetScanner, first: number, lines: number, column: number): string {
  const parts: string[] = [];
  for (const row of scan.head.slice(first, first + lines)) {
    const merge = scan.merges.find(
      (each) => each.top <= row.number && each.bottom >= row.number && each.left <= column && each.right >= column,
    );
    const source = merge ? scan.head.find((each) => each.number === merge.top) : row;
    const text = source?.cells.get(merge?.left ?? column)?.text ?? '';
    if (text.trim() !== '' && parts.at(-1) !== text) parts.push(text);
  }
  return parts.join('/');
}

function profilesOf(scan: SheetScanner, data: readonly HeadRow[], left: number, width: number): ColumnProfile[] {
  return Array.from({ length: width }, (_, n) => {
    const profile = scan.profiles[left + n] ?? new ColumnProfile();
    for (const row of data) profile.addKind(row.cells.get(left + n)?.kind ?? 0);
    return profile;
  });
}

/** Columns without any cell between others part a sheet into tables side by side. */
function blockNotes(on: string | null, scan: SheetScanner, left: number, width: number): Note[] {
  const blocks: [number, number][] = [];
  for (let column = left; column < left + width; column += 1) {
    if (!scan.used.has(column)) continue;
    const last = blocks.at(-1);
    if (last && last[1] === column - 1) last[1] = column;
    else blocks.push([column, column]);
  }
  return blocks.length > 1 ? [notes.blocks(on, blocks)] : [];
}

function formulaNotes(on: string | null, scan: SheetScanner, names: readonly string[], left: number): Note[] {
  const columns = [...scan.formulasWithoutValue.keys()].sort((a, b) => a - b).map((column) => names[column - left]!);
  return columns.length > 0 ? [notes.formulasWithoutValues(on, columns)] : [];
}

/** Texts that only look like numbers or dates, judged by the kept rows, and numbers that lost digits. */
function textNotes(
  on: string | null,
  scan: SheetScanner,
  data: readonly HeadRow[],
  columns: readonly Column[],
  left: number,
): Note[] {
  const readAs = columns.map((_, n) => {
    const cells = data.flatMap((row) => row.cells.get(left + n) ?? []).filter((cell) => cell.kind !== 0);
    const profile = new ColumnProfile();
    for (const cell of cells) profile.add(cell.text);
    return cells.every((cell) => cell.kind === KIND.string) ? profile.type : 'string';
  });
  const named = (test: (type: string, n: number) => boolean) =>
    columns.filter((_, n) => test(readAs[n]!, n)).map((column) => column.name);
  return [
    ...notes.roundedNumbers(
      on,
      named((_, n) => scan.roundedNumbers.has(left + n)),
    ),
    ...notes.numbersAsText(
      on,
      named((type) => type === 'integer' || type === 'number'),
    ),
    ...notes.datesAsText(
      on,
      named((type) => type === 'date' || type === 'datetime'),
    ),
  ];
}

function mergeNotes(on: string | null, scan: SheetScanner, lastHeader: number): Note[] {
  const count = scan.merges.filter((merge) => merge.top > lastHeader && merge.bottom > merge.top).length;
  return count > 0 ? [notes.mergedCells(on, count)] : [];
}

function noSheets(name: string): AppError {
  return new AppError('unreadable_file', {
    zh: `文件“${name}”里没有工作表。请在 Excel/WPS 中打开检查，另存为新的 .xlsx 后重新上传。`,
    en: `The file “${name}” has no sheets. Open it in Excel or another program, save it as a new .xlsx and upload that.`,
  });
}
