/** What a file turned out to be, by its bytes. `html` and `xml` are texts that we name but do not take apart. */
export type FileKind =
  | 'csv'
  | 'tsv'
  | 'xlsx'
  | 'xls'
  | 'json'
  | 'jsonl'
  | 'text'
  | 'html'
  | 'image'
  | 'pdf'
  | 'parquet'
  | 'document';

/** `empty` is a column without a single value. */
export type ColumnType = 'string' | 'integer' | 'number' | 'date' | 'datetime' | 'time' | 'boolean' | 'empty';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** `File.table` of the public API. `encoding` and `delimiter` are null for a workbook; `delimiter` also for a single column. */
export interface Table {
  /** `utf-8`, `utf-8-sig` (with BOM), `gb18030`, `utf-16le`, `utf-16be`, `big5`, `shift_jis`, or another WHATWG name. */
  readonly encoding: string | null;
  readonly delimiter: string | null;
  readonly columns: readonly Column[];
  /** Data rows, without header and blank lines. */
  readonly rows: number;
}

export interface Sheet {
  readonly name: string;
  readonly hidden: boolean;
  readonly columns: readonly Column[];
  /** Data rows below the header; 0 for an empty sheet. */
  readonly rows: number;
  /** 1-based rows of the header, null where there is none. */
  readonly headerRows: { readonly first: number; readonly last: number } | null;
}

/** Shape of JSON or JSON lines, as text: types and keys, no values. */
export interface Shape {
  /** Whole records of JSON lines, or elements of a top-level array; null for anything else. */
  readonly records: number | null;
  readonly text: string;
}

/** One thing a reader of the file should know, in both languages; `code` is for programs. */
export interface Note {
  readonly code: string;
  readonly zh: string;
  readonly en: string;
}

/** The first rows as the file has them (digits and leading zeros intact), for the eyes of the owner; never sent to a model. */
export interface Preview {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** All that is known of a file by its content. Plain JSON: it is stored beside the file. */
export interface FileDescription {
  readonly mimeType: string;
  readonly kind: FileKind;
  /** Encoding of any text file; of a table it is the same as `table.encoding`. */
  readonly encoding?: string;
  readonly table?: Table;
  readonly sheets?: readonly Sheet[];
  readonly shape?: Shape;
  readonly notes: readonly Note[];
  readonly preview?: Preview;
}

/** Where the bytes are: a file on this machine, or memory. */
export type FileSource = { readonly path: string } | { readonly buffer: Uint8Array };
