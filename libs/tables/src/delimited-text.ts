import type { ByteSource } from './byte-source.ts';
import { type Dialect, guessDialect } from './csv-dialect.ts';
import { CsvScanner, type ScanEnd } from './csv-scanner.ts';
import type { Note, Preview, Table } from './description.ts';
import type { Encoding } from './encoding.ts';
import { type BuiltTable, TableBuilder } from './table-builder.ts';
import { cutInQuote, delimiterDoubt, lineTooLong, sepLine, unclosedQuote } from './table-notes.ts';
import { decodedPieces } from './text-pieces.ts';

/** Characters from which delimiter and quoting are guessed. */
const HEAD_CHARACTERS = 64 * 1024;
/** Below this agreement of lines the reader hears of the doubt. */
const SURE = 0.6;

export interface DelimitedText {
  readonly table: Table;
  readonly preview: Preview;
  readonly notes: readonly Note[];
}

/** Looks at the first characters only. */
export async function dialectOf(source: ByteSource, encoding: Encoding, preferred?: string): Promise<Dialect> {
  let head = '';
  for await (const piece of decodedPieces(source, encoding)) {
    head += piece;
    if (head.length > HEAD_CHARACTERS) return guessDialect(head.slice(0, HEAD_CHARACTERS), false, preferred);
  }
  return guessDialect(head, true, preferred);
}

/** Describes delimited text: one pass over the whole of it, a second one where a quote is never closed. */
export async function describeDelimited(
  source: ByteSource,
  encoding: Encoding,
  dialect: Dialect,
): Promise<DelimitedText> {
  let { built, end, records } = await scanAll(source, encoding, dialect, true);
  const notes: Note[] = [...encoding.notes];
  if (dialect.sepLine) notes.push(sepLine());
  if (dialect.steadiness < SURE) notes.push(delimiterDoubt());
  if (end === 'unclosed_quote') {
    notes.push(unclosedQuote(records + 1));
    ({ built, end } = await scanAll(source, encoding, dialect, false));
  }
  if (end === 'cut_in_quote') notes.push(cutInQuote(built.rows));
  if (end === 'record_too_long') notes.push(lineTooLong());
  const { columns, rows, preview } = built;
  return {
    table: { encoding: encoding.name, delimiter: dialect.delimiter, columns, rows },
    preview,
    notes: [...notes, ...built.notes],
  };
}

async function scanAll(
  source: ByteSource,
  encoding: Encoding,
  dialect: Dialect,
  quoting: boolean,
): Promise<{ built: BuiltTable; end: ScanEnd; records: number }> {
  const builder = new TableBuilder();
  let records = 0;
  // A single column is read with a delimiter that no text has, so that commas in sentences do not part it.
  const scanner = new CsvScanner(dialect.delimiter ?? '\x1f', quoting, (record) => {
    records += 1;
    if (dialect.sepLine && records === 1) return;
    builder.add(record);
  });
  for await (const piece of decodedPieces(source, encoding)) if (!scanner.push(piece)) break;
  const end = scanner.finish();
  return { built: builder.finish(), end, records };
}
