import { KIND, kindOfCell } from './cell-kind.ts';
import { ColumnProfile } from './column-profile.ts';
import { dateText, type FormatKind } from './number-format.ts';

/** Rows that are kept to find titles and headers and to show. */
const HEAD_ROWS = 40;
/** Text of one kept cell. */
const LONGEST_TEXT = 300;
/** Columns of a sheet by the format itself. */
const MOST_COLUMNS = 16_384;
const MOST_MERGES = 5000;

/** A kept cell: its own text, or the number of a shared one that is read later. */
export interface HeadCell {
  text: string;
  shared: number | null;
  readonly kind: number;
}

export interface HeadRow {
  /** 1-based, as in the sheet. */
  readonly number: number;
  readonly cells: Map<number, HeadCell>;
}

export interface Merge {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

export interface SheetContext {
  /** Kinds of the cell styles by index. */
  readonly formats: readonly FormatKind[];
  readonly date1904: boolean;
}

/** Gathers what there is to know of a sheet from its XML, cell by cell. Only cells with a value or formula count; formatting does not. */
export class SheetScanner {
  readonly head: HeadRow[] = [];
  readonly merges: Merge[] = [];
  /** Of the rows behind the kept ones, by column. */
  readonly profiles: (ColumnProfile | undefined)[] = [];
  /** Columns that hold anything. */
  readonly used = new Set<number>();
  /** Columns with formulas whose value the file does not have, with the first row of each. */
  readonly formulasWithoutValue = new Map<number, number>();
  /** Columns with numbers so large that the workbook cannot hold their last digits. */
  readonly roundedNumbers = new Set<number>();
  filledRows = 0;
  /** The last row that the sheet claims in its `dimension`; it counts formatting too. */
  claimedRows = 0;
  readonly #context: SheetContext;
  #row = 0;
  #column = -1;
  #rowFilled = false;
  #headRow: HeadRow | null = null;
  #type = '';
  #style = 0;
  #value = '';
  #hasValue = false;
  #formula = false;
  #collecting = false;
  #phonetic = false;

  constructor(context: SheetContext) {
    this.#context = context;
  }

  readonly open = (name: string, attributes: Readonly<Record<string, string>>): void => {
    if (name === 'c') this.#openCell(attributes);
    else if (name === 'v' || (name === 't' && !this.#phonetic)) {
      this.#collecting = true;
      this.#hasValue = true;
    } else if (name === 'f') this.#formula = true;
    else if (name === 'rPh') this.#phonetic = true;
    else if (name === 'row') {
      this.#row = whole(attributes.r) ?? this.#row + 1;
      this.#column = -1;
      this.#rowFilled = false;
      this.#headRow = null;
    } else if (name === 'mergeCell' && this.merges.length < MOST_MERGES) {
      const merge = rangeOf(attributes.ref ?? '');
      if (merge) this.merges.push(merge);
    } else if (name === 'dimension') this.claimedRows = rangeOf(attributes.ref ?? '')?.bottom ?? 0;
  };

  readonly text = (text: string): void => {
    if (this.#collecting && this.#value.length < LONGEST_TEXT) this.#value += text;
  };

  readonly close = (name: string): void => {
    if (name === 'v' || name === 't') this.#collecting = false;
    else if (name === 'rPh') this.#phonetic = false;
    else if (name === 'c') this.#closeCell();
  };

  #openCell(attributes: Readonly<Record<string, string>>): void {
    this.#column = columnOf(attributes.r ?? '') ?? this.#column + 1;
    this.#type = attributes.t ?? 'n';
    this.#style = Number(attributes.s ?? 0);
    this.#value = '';
    this.#hasValue = false;
    this.#formula = false;
  }

  #closeCell(): void {
    const column = this.#column;
    if (!(this.#hasValue || this.#formula) || column >= MOST_COLUMNS) return;
    this.used.add(column);
    if (!this.#rowFilled) this.#fillRow();
    if (this.#formula && !this.#hasValue && !this.formulasWithoutValue.has(column))
      this.formulasWithoutValue.set(column, this.#row);
    const cell = this.#cell();
    if (this.#headRow) this.#headRow.cells.set(column, cell);
    else {
      this.profiles[column] ??= new ColumnProfile();
      this.profiles[column].addKind(cell.kind);
    }
  }

  #fillRow(): void {
    this.#rowFilled = true;
    this.filledRows += 1;
    if (this.filledRows > HEAD_ROWS) return;
    this.#headRow = { number: this.#row, cells: new Map() };
    this.head.push(this.#headRow);
  }

  #cell(): HeadCell {
    const text = this.#value;
    if (!this.#hasValue) return { text: '', shared: null, kind: 0 };
    switch (this.#type) {
      case 's':
        return { text: '', shared: whole(text) ?? 0, kind: KIND.string };
      case 'str':
      case 'inlineStr':
        // Excel keeps 15 digits: an id of 18 that was typed as a number has lost three before it came here.
        if (text.length > 15 && Math.abs(Number(text)) >= 1e15) this.roundedNumbers.add(this.#column);
        return { text, shared: null, kind: text === '' ? 0 : KIND.string };
      case 'b':
        return { text: text === '1' ? 'TRUE' : 'FALSE', shared: null, kind: KIND.boolean };
      case 'e':
        return { text, shared: null, kind: KIND.missingMark };
      case 'd':
        return { text, shared: null, kind: kindOfCell(text) };
      default:
        return this.#number(text);
    }
  }

  #number(text: string): HeadCell {
    const format = this.#context.formats[this.#style] ?? 'general';
    if (format === 'date' || format === 'datetime' || format === 'time') {
      // Programs write plain days with a format of day and time; the time of day itself tells them apart.
      const kind = format === 'time' ? format : text.includes('.') ? 'datetime' : 'date';
      return { text: dateText(text, kind, this.#context.date1904), shared: null, kind: KIND[kind] };
    }
    // Excel keeps 15 digits: an id of 18 that was typed as a number has lost three before it came here.
    if (text.length > 15 && Math.abs(Number(text)) >= 1e15) this.roundedNumbers.add(this.#column);
    return { text, shared: null, kind: text === '' ? 0 : /[.eE]/.test(text) ? KIND.number : KIND.integer };
  }
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** 0-based column of a reference such as `AB12`, or null. */
function columnOf(reference: string): number | null {
  let column = 0;
  for (let n = 0; n < reference.length; n += 1) {
    const code = reference.charCodeAt(n);
    if (code < 65 || code > 90) return n > 0 && n <= 3 ? column - 1 : null;
    column = column * 26 + code - 64;
  }
  return null;
}

function rangeOf(reference: string): Merge | null {
  const match = /^\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?$/.exec(reference);
  if (!match) return null;
  const [left, top] = [columnOf(`${match[1]}1`)!, Number(match[2])];
  return { top, left, bottom: Number(match[4] ?? top), right: match[3] ? columnOf(`${match[3]}1`)! : left };
}

/** Letters of a 0-based column. */
export function columnLetters(column: number): string {
  let [rest, letters] = [column + 1, ''];
  while (rest > 0) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
    rest = Math.floor((rest - 1) / 26);
  }
  return letters;
}
