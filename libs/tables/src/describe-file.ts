import {
  ACCEPTED_TYPES,
  type AcceptedType,
  emptyFile,
  extensionOf,
  typeByName,
  unsupported,
} from './accepted-types.ts';
import { Archive } from './archive.ts';
import { ByteSource } from './byte-source.ts';
import { checkBinary } from './content-check.ts';
import { foundName } from './content-names.ts';
import { describeDelimited, dialectOf } from './delimited-text.ts';
import type { FileDescription, FileSource, Note } from './description.ts';
import { detectEncoding, type Encoding } from './encoding.ts';
import { firstHtmlTable, LARGEST_PAGE_CHARACTERS } from './html-table.ts';
import { describeJson } from './json-text.ts';
import { storable } from './plain-text.ts';
import { note } from './table-notes.ts';
import { decodedPieces } from './text-pieces.ts';
import { describeWorkbook } from './workbook.ts';

export interface DescribeOptions {
  readonly name: string;
  readonly types?: readonly AcceptedType[];
}

/**
 * Says what a file is and what is in it, by its bytes; the name only says what it should be. Reads in pieces with turns of the event
 * loop between them: memory does not grow with the file, and 50 MiB take about a second of one core.
 * Errors: `unsupported_type` (what it is, what is accepted), `unreadable_file`, `empty_file`.
 */
export async function describeFile(source: FileSource, options: DescribeOptions): Promise<FileDescription> {
  const types = options.types ?? ACCEPTED_TYPES;
  const type = typeByName(options.name, types);
  const bytes = await ByteSource.open(source);
  try {
    if (bytes.bytes === 0) throw emptyFile(options.name);
    const encoding = await detectEncoding(bytes);
    const description = encoding
      ? await describeText(bytes, encoding, options.name)
      : await describeBinary(bytes, options.name);
    const { kind } = description;
    if (!kind || !type.kinds.includes(kind)) throw unsupported(options.name, foundName(description.mimeType), types);
    const other = otherContent(type.extension, description);
    return storable({ ...description, kind, mimeType: description.mimeType!, notes: [...other, ...description.notes] });
  } finally {
    await bytes.close();
  }
}

/** A description whose content may turn out to be nothing that is accepted. */
type Content = Omit<FileDescription, 'kind' | 'mimeType'> & {
  readonly kind: FileDescription['kind'] | null;
  readonly mimeType: string | null;
};

async function describeBinary(source: ByteSource, name: string): Promise<Content> {
  const { kind, mimeType } = await checkBinary(source, name);
  if (kind === 'xls') return { kind, mimeType, notes: [oldWorkbook()] };
  if (kind !== 'xlsx') return { kind, mimeType, notes: [] };
  const archive = await Archive.open(source, name);
  try {
    return { kind, mimeType, ...(await describeWorkbook(archive, name)) };
  } finally {
    archive.close();
  }
}

/** Names that promise a table; other texts are one only where every line agrees. */
const TABLE_NAMES = new Set(['csv', 'tsv', 'xls']);
const LINES_NAMES = new Set(['jsonl', 'ndjson']);
/** Records that must agree before a `.txt` is called a table. */
const PROOF = 3;

async function describeText(source: ByteSource, encoding: Encoding, name: string): Promise<Content> {
  const start = await firstCharacters(source, encoding);
  if (start === '') throw emptyFile(name);
  const extension = extensionOf(name);
  if (extension === 'md')
    return { kind: 'text', mimeType: 'text/markdown', encoding: encoding.name, notes: encoding.notes };
  const markup = markupType(start);
  if (markup === 'text/html') return describePage(source, encoding);
  if (markup !== null) return { kind: markup === 'application/pdf' ? 'pdf' : null, mimeType: markup, notes: [] };
  const named = extension === 'json' || LINES_NAMES.has(extension);
  if (named || /^[[{]/.test(start)) {
    const { valid, ...json } = await describeJson(source, encoding, LINES_NAMES.has(extension));
    const mimeType = json.kind === 'json' ? 'application/json' : 'application/jsonl';
    if (named || valid) return { ...json, mimeType, encoding: encoding.name };
  }
  const dialect = await dialectOf(source, encoding, extension === 'tsv' ? '\t' : undefined);
  const agrees = dialect.width > 1 && dialect.steadiness === 1 && dialect.records >= PROOF;
  if (!TABLE_NAMES.has(extension) && !agrees) {
    return { kind: 'text', mimeType: 'text/plain', encoding: encoding.name, notes: encoding.notes };
  }
  const described = await describeDelimited(source, encoding, dialect);
  const tabs = dialect.delimiter === '\t';
  return {
    kind: tabs ? 'tsv' : 'csv',
    mimeType: tabs ? 'text/tab-separated-values' : 'text/csv',
    encoding: encoding.name,
    ...described,
  };
}

/** The first characters that are not blank; `''` for a text of blanks alone. */
async function firstCharacters(source: ByteSource, encoding: Encoding): Promise<string> {
  for await (const piece of decodedPieces(source, encoding)) {
    const start = piece.trimStart();
    if (start !== '') return start.slice(0, 400);
  }
  return '';
}

/** Texts that are something else than rows or words, by how they begin. */
function markupType(start: string): string | null {
  if (/^(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body|table|meta|style|div)\b/is.test(start))
    return 'text/html';
  if (/^<(?:\?xml|svg|!doctype)\b/i.test(start)) return 'application/xml';
  if (start.startsWith('{\\rtf')) return 'application/rtf';
  return start.startsWith('%PDF-') ? 'application/pdf' : null;
}

async function describePage(source: ByteSource, encoding: Encoding): Promise<Content> {
  const content = { kind: 'html', mimeType: 'text/html', encoding: encoding.name } as const;
  let page = '';
  for await (const piece of decodedPieces(source, encoding)) {
    page += piece;
    if (page.length > LARGEST_PAGE_CHARACTERS) return { ...content, notes: encoding.notes };
  }
  const built = firstHtmlTable(page);
  if (!built) return { ...content, notes: encoding.notes };
  const { columns, rows, preview } = built;
  return {
    ...content,
    table: { encoding: encoding.name, delimiter: null, columns, rows },
    preview,
    notes: [...encoding.notes, ...built.notes],
  };
}

/** How each content is read, where the name would mislead. */
const READERS: Readonly<Record<string, string>> = {
  html: 'pd.read_html',
  tsv: 'pd.read_csv(sep="\\t")',
  csv: 'pd.read_csv',
  xlsx: 'pd.read_excel(engine="openpyxl")',
  xls: 'pd.read_excel(engine="xlrd")',
  json: 'pd.read_json',
  jsonl: 'pd.read_json(lines=True)',
};
const SPOKEN: Readonly<Record<string, { zh: string; en: string }>> = {
  html: { zh: '网页表格（HTML）', en: 'a web page (HTML) with a table' },
  tsv: { zh: '制表符分隔的文本', en: 'tab-separated text' },
  csv: { zh: '分隔符文本（CSV）', en: 'delimited text (CSV)' },
  xlsx: { zh: '新版工作簿（XLSX）', en: 'a newer workbook (XLSX)' },
  xls: { zh: '旧版工作簿（XLS）', en: 'an old workbook (XLS)' },
  json: { zh: 'JSON', en: 'JSON' },
  jsonl: { zh: 'JSON Lines（每行一个 JSON）', en: 'JSON lines' },
};
/** Extensions under which a content is no surprise. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  csv: ['csv', 'txt', 'log', 'tsv'],
  tsv: ['tsv', 'csv', 'txt', 'log'],
  xlsx: ['xlsx'],
  xls: ['xls'],
  json: ['json', 'txt'],
  jsonl: ['jsonl', 'ndjson', 'txt', 'log'],
};

function otherContent(extension: string, { kind }: Content): Note[] {
  const words = SPOKEN[kind ?? ''];
  if (!words || EXPECTED[kind!]?.includes(extension)) return [];
  return [
    note(
      'other_content',
      `扩展名是 .${extension}，内容其实是${words.zh}，请用 ${READERS[kind!]} 读取`,
      `named .${extension}, but the content is ${words.en}; read it with ${READERS[kind!]}`,
    ),
  ];
}

function oldWorkbook(): Note {
  return note(
    'old_workbook',
    '旧版 .xls 工作簿，上传时不查看内容；代码里可用 pd.read_excel(engine="xlrd") 读取，另存为 .xlsx 后上传可看到列和行数',
    'an old .xls workbook, not looked into at upload; read it with pd.read_excel(engine="xlrd"), or save it as .xlsx to have its columns listed',
  );
}
