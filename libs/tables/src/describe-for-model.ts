import type { Locale } from '@moli/errors';
import { showBytes } from './accepted-types.ts';
import type { Column, FileDescription } from './description.ts';
import { oneLine } from './plain-text.ts';

/** Bytes of UTF-8 that one file may take in a request to a model, whatever is in it. */
export const DESCRIPTION_BYTES = 4096;
/** Kept free for notes when columns are many. */
const COLUMN_BYTES = 2200;
const SHEET_BYTES = 900;

export interface DescribedFile {
  readonly name: string;
  readonly bytes: number;
  readonly description: FileDescription;
}

const TYPES: Readonly<Record<string, string>> = {
  string: '文本',
  integer: '整数',
  number: '数值',
  date: '日期',
  datetime: '日期时间',
  time: '时间',
  boolean: '布尔',
  empty: '全空',
};

/** Names under which Python reads an encoding without surprises, where ours is not one. */
const PYTHON: Readonly<Record<string, string>> = {
  shift_jis: 'cp932',
  'utf-16le': 'utf-16',
  'utf-16be': 'utf-16',
  big5: 'big5hkscs',
  'euc-kr': 'cp949',
  'windows-874': 'cp874',
};

/**
 * What a model is told of a file: name, size, encoding, delimiter, columns with types, rows, sheets, shape and notes, at most
 * `DESCRIPTION_BYTES` bytes. Never a value of the file: data goes to the sandbox, not to the model's server.
 */
export function describeForModel(file: DescribedFile, locale: Locale): string {
  const { description } = file;
  const zh = locale === 'zh';
  const lines = [heading(file, zh)];
  const { table, sheets, shape } = description;
  if (table) lines.push(tableLine(table.columns, table.rows, zh));
  if (sheets && sheets.length > 1) lines.push(sheetLine(sheets, zh));
  if (shape) {
    const records = shape.records === null ? '' : zh ? `（${shape.records} 条）` : ` (${shape.records} records)`;
    lines.push(`${zh ? '结构' : 'shape'}${records}: ${shape.text}`);
  }
  for (const each of orderedNotes(description)) lines.push(`- ${zh ? each.zh : each.en}`);
  return within(lines, zh);
}

function heading({ name, bytes, description }: DescribedFile, zh: boolean): string {
  const parts = [`${zh ? '文件' : 'file'} ${JSON.stringify(name)}`, description.kind, showBytes(bytes)];
  const encoding = description.encoding ?? description.table?.encoding;
  if (encoding) {
    const python =
      encoding === 'utf-16le' && description.notes.some((each) => each.code === 'encoding_no_bom')
        ? 'utf-16-le'
        : PYTHON[encoding];
    parts.push(`${zh ? '编码' : 'encoding'} ${encoding}${python ? ` (Python: ${python})` : ''}`);
  }
  const delimiter = description.table?.delimiter;
  if (delimiter) parts.push(`${zh ? '分隔符' : 'delimiter'} ${JSON.stringify(delimiter)}`);
  return parts.join(', ');
}

function tableLine(columns: readonly Column[], rows: number, zh: boolean): string {
  const head = zh ? `${rows} 行 × ${columns.length} 列：` : `${rows} rows × ${columns.length} columns: `;
  return (
    head +
    fitted(
      columns.map((each) => `${JSON.stringify(cut(each.name))} ${zh ? TYPES[each.type] : each.type}`),
      COLUMN_BYTES,
      zh,
    )
  );
}

function sheetLine(sheets: NonNullable<FileDescription['sheets']>, zh: boolean): string {
  const each = sheets.map((sheet) => {
    const size = zh
      ? `${sheet.rows} 行 × ${sheet.columns.length} 列`
      : `${sheet.rows} rows × ${sheet.columns.length} columns`;
    const names = sheet.columns
      .slice(0, 12)
      .map((column) => oneLine(cut(column.name)))
      .join(zh ? '、' : ', ');
    return `${JSON.stringify(cut(sheet.name))} ${size}${names ? ` (${names})` : ''}`;
  });
  return `${zh ? '工作表：' : 'sheets: '}${fitted(each, SHEET_BYTES, zh)}`;
}

/** As many of the parts as fit, and how many more there are. */
function fitted(parts: readonly string[], bytes: number, zh: boolean): string {
  let [size, count] = [0, 0];
  for (const part of parts) {
    size += Buffer.byteLength(part) + 2;
    if (size > bytes) break;
    count += 1;
  }
  const more = parts.length - count;
  const rest = more > 0 ? (zh ? ` …另有 ${more} 个未列出` : ` …and ${more} more`) : '';
  return parts.slice(0, count).join(', ') + rest;
}

const cut = (text: string) => (text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text);

/** Repeated notes (one a sheet) behind the first of each kind, so that a bound drops repetition before news. */
function orderedNotes({ notes }: FileDescription): FileDescription['notes'] {
  const first = notes.filter((each, n) => notes.findIndex((other) => other.code === each.code) === n);
  return [...first, ...notes.filter((each) => !first.includes(each))];
}

function within(lines: readonly string[], zh: boolean): string {
  const end = zh ? '（说明过长，其余略）' : '(the rest of the notes is left out)';
  let text = '';
  for (const line of lines) {
    const next = text === '' ? line : `${text}\n${line}`;
    if (Buffer.byteLength(next) + Buffer.byteLength(end) + 1 > DESCRIPTION_BYTES) return `${text}\n${end}`;
    text = next;
  }
  return text;
}
