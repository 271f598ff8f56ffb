/** One record as positions in a text, so that cells nobody reads cost no string. Valid only during the call that hands it over. */
export interface RawRecord {
  readonly text: string;
  readonly count: number;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** `PLAIN`: the cell is the text between the positions; `ESCAPED`: it has doubled quotes or text behind its closing quote. */
  readonly kinds: Uint8Array;
}

export const PLAIN = 0;
const ESCAPED = 1;

/**
 * Characters of one record. A quote that is never closed swallows the rest of the file; the bound stops that, and holds memory
 * for files that are one line. The longest cell of Excel is 32,767 characters.
 */
export const RECORD_CHARACTERS = 2 * 1024 * 1024;

/** Quoted cells from which on quotes are taken for the way of the file. */
const MANY_QUOTED = 20;

const [QUOTE, LF, CR] = [34, 10, 13];

/** Takes records; answers false when it has enough. */
export type RecordSink = (record: RawRecord) => unknown;

export type ScanEnd = 'complete' | 'unclosed_quote' | 'cut_in_quote' | 'record_too_long';

/**
 * Splits delimited text into records the way pandas and RFC 4180 readers do: a quote opens only at the start of a cell, a doubled quote is one,
 * text behind a closing quote is kept, LF, CRLF and CR end a record, blank lines are none. Text comes in pieces of any cut.
 */
export class CsvScanner {
  readonly #delimiter: number;
  readonly #quoting: boolean;
  readonly #sink: RecordSink;
  #rest = '';
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #kinds = new Uint8Array(64);
  #end: ScanEnd | null = null;
  /** The record that is being read ran into the end of the text inside of a quote. */
  #inQuote = false;
  /** The cell whose closing quote was found last has doubled quotes. */
  #doubled = false;
  /** Cells that were quoted so far, counted only as far as it matters. */
  #quotedCells = 0;

  constructor(delimiter: string, quoting: boolean, sink: RecordSink) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#quoting = quoting;
    this.#sink = sink;
  }

  /** False when there is no point in more text: a record is too long, or the sink stopped. */
  push(piece: string): boolean {
    if (this.#end) return false;
    const text = this.#rest === '' ? piece : this.#rest + piece;
    this.#rest = text.slice(this.#scan(text, false));
    if (!this.#end && this.#rest.length > RECORD_CHARACTERS)
      this.#end = this.#inQuote ? 'unclosed_quote' : 'record_too_long';
    return this.#end === null;
  }

  finish(): ScanEnd {
    if (!this.#end) {
      const text = this.#rest;
      this.#rest = '';
      const reached = this.#scan(text, true);
      this.#end ??= reached === text.length ? 'complete' : this.#cut(text) ? 'cut_in_quote' : 'unclosed_quote';
    }
    return this.#end;
  }

  /** A file that quotes its cells and ends inside of one was cut off; a lone quote that swallows lines to the end is a stray one. */
  #cut(rest: string): boolean {
    return this.#quotedCells >= MANY_QUOTED || (this.#quotedCells > 0 && !rest.includes('\n'));
  }

  /** Hands over every whole record; returns where the first unfinished one begins. */
  #scan(text: string, last: boolean): number {
    let position = 0;
    while (position < text.length) {
      const next = this.#record(text, position, last);
      if (next < 0) return position;
      position = next;
      if (this.#end) return position;
    }
    return position;
  }

  /** Reads one record from `from`; the position behind it, or -1 when the text ends before it does. */
  #record(text: string, from: number, last: boolean): number {
    const [length, delimiter] = [text.length, this.#delimiter];
    let position = from;
    let count = 0;
    for (;;) {
      let start = position;
      let end = -1;
      let kind = PLAIN;
      if (this.#quoting && text.charCodeAt(position) === QUOTE) {
        const close = this.#closingQuote(text, position);
        if (close < 0 || (close === length - 1 && !last)) {
          this.#inQuote = true;
          return -1;
        }
        if (this.#quotedCells < MANY_QUOTED) this.#quotedCells += 1;
        start = position + 1;
        end = close;
        position = close + 1;
        if (this.#doubled) kind = ESCAPED;
      }
      const behind = position;
      let code = 0;
      while (position < length) {
        code = text.charCodeAt(position);
        if (code === delimiter || code === LF || code === CR) break;
        position += 1;
      }
      if (position === length && !last) {
        this.#inQuote = false;
        return -1;
      }
      if (end < 0) end = position;
      else if (position > behind) {
        // Text behind the closing quote belongs to the cell: keep the quotes in the range, taken apart when read.
        kind = ESCAPED;
        start -= 1;
        end = position;
      } else if (kind === ESCAPED) {
        start -= 1;
        end += 1;
      }
      if (count === this.#starts.length) this.#grow();
      this.#starts[count] = start;
      this.#ends[count] = end;
      this.#kinds[count] = kind;
      count += 1;
      if (position === length) break;
      if (code !== delimiter) {
        if (code === CR) {
          // The LF of a CRLF may come with the next piece.
          if (position + 1 === length && !last) {
            this.#inQuote = false;
            return -1;
          }
          if (text.charCodeAt(position + 1) === LF) position += 1;
        }
        position += 1;
        break;
      }
      position += 1;
    }
    this.#emit(text, from, count);
    return position;
  }

  #closingQuote(text: string, open: number): number {
    const first = text.indexOf('"', open + 1);
    this.#doubled = first >= 0 && text.charCodeAt(first + 1) === QUOTE;
    return this.#doubled ? closingQuote(text, open) : first;
  }

  #emit(text: string, from: number, count: number): void {
    if (count === 1 && this.#starts[0] === from && text.slice(from, this.#ends[0]).trim() === '') return;
    const record = { text, count, starts: this.#starts, ends: this.#ends, kinds: this.#kinds };
    if (this.#sink(record) === false) this.#end = 'complete';
  }

  #grow(): void {
    const size = this.#starts.length * 2;
    const grown = <T extends Int32Array | Uint8Array>(target: T, old: T): T => {
      target.set(old);
      return target;
    };
    this.#starts = grown(new Int32Array(size), this.#starts);
    this.#ends = grown(new Int32Array(size), this.#ends);
    this.#kinds = grown(new Uint8Array(size), this.#kinds);
  }
}

/** Position of the quote that closes the one at `open`, or -1. */
function closingQuote(text: string, open: number): number {
  let position = open + 1;
  for (;;) {
    const quote = text.indexOf('"', position);
    if (quote < 0 || text.charCodeAt(quote + 1) !== QUOTE) return quote;
    position = quote + 2;
  }
}

/** The text of one cell. */
export function cellOf(record: RawRecord, column: number): string {
  const raw = record.text.slice(record.starts[column], record.ends[column]);
  if (record.kinds[column] === PLAIN) return raw;
  const close = closingQuote(raw, 0);
  return raw.slice(1, close).replaceAll('""', '"') + raw.slice(close + 1);
}

/** All cells of a record, copied: they stay valid and keep no larger text alive. */
export function cellsOf(record: RawRecord): string[] {
  return Array.from({ length: record.count }, (_, column) => copied(cellOf(record, column)));
}

/** V8 makes a slice point into its parent; a kept cell of 5 characters would hold a piece of 256 KiB. */
function copied(text: string): string {
  return text.length < 13 ? text : Buffer.from(text, 'utf16le').toString('utf16le');
}
