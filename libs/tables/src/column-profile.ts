import { AMBIGUOUS_FORM, DATE_FORMS, ISO_FORM, KIND, kindOfCell, quickKind, UNDECIDED } from './cell-kind.ts';
import type { ColumnType } from './description.ts';

/** Kinds that one numeric column may mix. */
const NUMERIC =
  KIND.integer | KIND.number | KIND.thousands | KIND.decimalComma | KIND.percent | KIND.currency | KIND.compactDate;
/** Once a column has shown this much text, its other cells say nothing more. */
const PLAINLY_TEXT = 50;
/** Up to this share of odd cells a column is called what most of it is not: worth a note. */
const FEW = 0.1;

/** What the cells of one column have shown so far. */
export class ColumnProfile {
  #kinds = 0;
  #forms = 0;
  #values = 0;
  #strings = 0;
  #settled = false;
  readonly #noteForm = (index: number): void => {
    this.#forms |= 1 << index;
  };

  /** Counts a cell of text. */
  add(cell: string): void {
    if (this.#settled) return;
    this.addKind(kindOfCell(cell, this.#noteForm));
  }

  /** Counts a cell that is the text between two positions. */
  addSlice(text: string, start: number, end: number): void {
    if (this.#settled) return;
    const kind = quickKind(text, start, end);
    if (kind === UNDECIDED) {
      this.add(text.slice(start, end));
      return;
    }
    if (kind === KIND.date) this.#forms |= 1 << ISO_FORM;
    this.addKind(kind);
  }

  /** True when more cells cannot change the type or a note; they need not be cut out of the text. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Counts a cell whose kind is known, as in a workbook; 0 is a missing value. */
  addKind(kind: number): void {
    if (kind === 0) return;
    this.#kinds |= kind;
    this.#values += 1;
    if (kind !== KIND.string) return;
    this.#strings += 1;
    if (this.#strings >= PLAINLY_TEXT && this.#strings * 2 > this.#values) this.#settled = true;
  }

  get type(): ColumnType {
    const kinds = this.#kinds & ~KIND.missingMark;
    if (kinds === 0) return this.#kinds === 0 ? 'empty' : 'string';
    if (kinds & (KIND.string | KIND.id)) return 'string';
    return withoutText(kinds);
  }

  /** Digits that must not be read as numbers. */
  get holdsIds(): boolean {
    return (this.#kinds & KIND.id) !== 0 && (this.#kinds & KIND.string) === 0;
  }

  /** Numbers or dates with a few cells of other text among them: the type that most cells have, else null. */
  get mostly(): ColumnType | null {
    const rest = this.#kinds & ~(KIND.string | KIND.missingMark | KIND.id);
    if (this.#strings === 0 || this.#settled || rest === 0 || this.#strings > this.#values * FEW) return null;
    const type = withoutText(rest);
    return type === 'string' ? null : type;
  }

  get strings(): number {
    return this.#strings;
  }

  has(kind: number): boolean {
    return (this.#kinds & kind) !== 0;
  }

  /** Patterns of its dates beyond the two that every reader takes, when it is a column of dates. */
  get datePatterns(): readonly string[] {
    if (this.type !== 'date' && this.type !== 'datetime') return [];
    const seen = DATE_FORMS.filter((_, index) => this.#forms & (1 << index));
    return seen.length > 1 || seen.some((form) => !form.iso) ? seen.map((form) => form.pattern) : [];
  }

  get dateOrderUnclear(): boolean {
    return this.datePatterns.length > 0 && (this.#forms & (1 << AMBIGUOUS_FORM)) !== 0;
  }
}

function withoutText(kinds: number): ColumnType {
  const only = (allowed: number) => (kinds & ~allowed) === 0;
  if (only(KIND.compactDate)) return 'date';
  if (only(KIND.integer | KIND.compactDate)) return 'integer';
  if (only(NUMERIC)) return 'number';
  if (only(KIND.date | KIND.compactDate)) return 'date';
  if (only(KIND.date | KIND.datetime | KIND.compactDate)) return 'datetime';
  if (only(KIND.time)) return 'time';
  if (only(KIND.boolean)) return 'boolean';
  return 'string';
}
