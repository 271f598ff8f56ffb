import { kindOfCell } from './cell-kind.ts';
import { ColumnProfile } from './column-profile.ts';
import { cellOf, cellsOf, PLAIN, type RawRecord } from './csv-scanner.ts';
import type { Column, Note, Preview } from './description.ts';
import { guessHeader, pandasNames } from './header-guess.ts';
import * as notes from './table-notes.ts';

/** Records that are looked at together to find the header and the width. */
const SAMPLE_RECORDS = 200;
/** And at most this many characters of them. */
const SAMPLE_CHARACTERS = 1024 * 1024;
/** Excel has 16,384 columns; a list beyond helps nobody and a hostile line could ask for a million. */
const MOST_COLUMNS = 20_000;
const PREVIEW = { rows: 5, columns: 50, characters: 100 };

export interface BuiltTable {
  readonly columns: readonly Column[];
  readonly rows: number;
  readonly notes: readonly Note[];
  readonly preview: Preview;
  /** Share of the sample's records that have the usual width: 1 for a clean table. */
  readonly steady: boolean;
}

/** Makes a table's description from its records, one after the other. Holds the first ones, then only counts. */
export class TableBuilder {
  readonly #sample: string[][] = [];
  #characters = 0;
  #settled = false;
  #profiles: ColumnProfile[] = [];
  #names: readonly string[] = [];
  #width = 0;
  #allowed = 0;
  #rows = 0;
  #emptyRows = 0;
  #irregular = { count: 0, least: Number.POSITIVE_INFINITY, most: 0 };
  #notes: Note[] = [];
  #preview: string[][] = [];

  add(record: RawRecord): void {
    if (this.#settled) this.#count(record);
    else this.addCells(cellsOf(record), record.ends[record.count - 1]! - record.starts[0]!);
  }

  /** A record of ready cells, before the header is settled or from another source than the scanner. */
  addCells(cells: string[], characters = cells.reduce((sum, cell) => sum + cell.length, 0)): void {
    if (this.#settled) {
      this.#countCells(cells);
      return;
    }
    this.#sample.push(cells);
    this.#characters += characters;
    if (this.#sample.length >= SAMPLE_RECORDS || this.#characters >= SAMPLE_CHARACTERS) this.#settle();
  }

  finish(): BuiltTable {
    if (!this.#settled) this.#settle();
    const { count, least, most } = this.#irregular;
    const columns = this.#names.map((name, n) => ({ name, type: this.#profiles[n]!.type }));
    const all = [...this.#notes];
    if (this.#rows === 0 && this.#names.length > 0) all.push(notes.headerOnly());
    if (count > 0) all.push(notes.irregularRows(count, least, most, this.#width));
    if (this.#emptyRows > 0) all.push(notes.emptyRows(this.#emptyRows));
    all.push(...notes.columnNotes(this.#names, this.#profiles, true));
    const preview = { columns: this.#names.slice(0, PREVIEW.columns), rows: this.#preview };
    return { columns, rows: this.#rows, notes: all, preview, steady: count === 0 };
  }

  #settle(): void {
    this.#settled = true;
    const grid = this.#sample.map((cells) => cells.map((text) => ({ text, kind: kindOfCell(text) })));
    const guess = guessHeader(grid);
    const header = guess.header ? this.#sample[guess.skipped]! : null;
    const data = this.#sample.slice(guess.skipped + (header ? 1 : 0));
    const trailing = this.#setWidth(header, data);
    const shown = Math.min(this.#width, MOST_COLUMNS);
    if (header) {
      const names = pandasNames(header, shown);
      this.#names = names.names;
      this.#notes.push(...notes.nameNotes(names));
    } else this.#names = Array.from({ length: shown }, (_, n) => `column_${n + 1}`);
    this.#profiles = this.#names.map(() => new ColumnProfile());
    if (guess.skipped > 0) this.#notes.unshift(notes.titleAbove(guess.skipped));
    if (!header && data.length > 0) this.#notes.push(notes.noHeader(guess.doubtful));
    if (header && guess.doubtful && data.length > 0) this.#notes.push(notes.headerDoubt());
    if (trailing) this.#notes.push(notes.trailingDelimiter());
    if (shown < this.#width) this.#notes.push(notes.moreColumns(shown, this.#width));
    for (const cells of data) this.#countCells(cells);
    this.#sample.length = 0;
  }

  /** Decides how many columns there are; true when each row ends in a delimiter too many. */
  #setWidth(header: readonly string[] | null, data: readonly string[][]): boolean {
    const usual = usualLength(data) || (header?.length ?? 0);
    const named = header?.length ?? usual;
    const blankEnd = data.length > 0 && data.every((cells) => cells.length !== usual || cells.at(-1)!.trim() === '');
    const headerEnds = header !== null && header.length > 1 && header.at(-1)!.trim() === '';
    this.#allowed = Math.max(usual, named);
    if (blankEnd && usual === named + 1) {
      this.#width = named;
      return true;
    }
    if (blankEnd && headerEnds && usual === named) {
      this.#width = named - 1;
      return true;
    }
    this.#width = Math.max(usual, named);
    if (usual > named) this.#notes.push(notes.extraFields(usual - named));
    this.#allowed = usual;
    return false;
  }

  #countCells(cells: readonly string[]): void {
    for (let n = 0; n < this.#profiles.length && n < cells.length; n += 1) this.#profiles[n]!.add(cells[n]!);
    this.#countRow(
      cells.length,
      cells.every((cell) => cell === ''),
    );
    if (this.#preview.length < PREVIEW.rows) {
      this.#preview.push(
        cells.slice(0, Math.min(this.#names.length, PREVIEW.columns)).map((cell) => cell.slice(0, PREVIEW.characters)),
      );
    }
  }

  #count(record: RawRecord): void {
    const { text, count, starts, ends, kinds } = record;
    const width = Math.min(this.#profiles.length, count);
    let empty = true;
    for (let n = 0; n < width; n += 1) {
      const [start, end] = [starts[n]!, ends[n]!];
      if (start === end) continue;
      empty = false;
      if (kinds[n] === PLAIN) this.#profiles[n]!.addSlice(text, start, end);
      else if (!this.#profiles[n]!.settled) this.#profiles[n]!.add(cellOf(record, n));
    }
    this.#countRow(count, empty);
  }

  #countRow(count: number, empty: boolean): void {
    this.#rows += 1;
    if (empty) this.#emptyRows += 1;
    if (count === this.#allowed || count === this.#width) return;
    this.#irregular.count += 1;
    this.#irregular.least = Math.min(this.#irregular.least, count);
    this.#irregular.most = Math.max(this.#irregular.most, count);
  }
}

function usualLength(rows: readonly string[][]): number {
  const counts = new Map<number, number>();
  for (const row of rows) counts.set(row.length, (counts.get(row.length) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}
