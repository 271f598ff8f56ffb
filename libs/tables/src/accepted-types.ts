import { AppError } from '@moli/errors';
import type { FileKind } from './description.ts';

/** A kind of file that may be uploaded, by the extension of its name. */
export interface AcceptedType {
  /** Lower case, without the dot. */
  readonly extension: string;
  /** What browsers and clients call it; the first is ours. Never trusted: the content decides. */
  readonly mimeTypes: readonly string[];
  /** What the content of a file with this extension may turn out to be. */
  readonly kinds: readonly FileKind[];
}

const type = (extension: string, mimeTypes: readonly string[], kinds: readonly FileKind[]): AcceptedType => ({
  extension,
  mimeTypes,
  kinds,
});

const XLSX_MIME = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const DELIMITED: readonly FileKind[] = ['csv', 'tsv'];

/**
 * Every type that Moli knows how to check, and the default list of what is accepted. Old `.xls` names are widely worn by
 * workbooks, tab-separated text and HTML tables that web systems export, so all of these are looked at by content.
 */
export const ACCEPTED_TYPES: readonly AcceptedType[] = [
  type('csv', ['text/csv', 'application/csv', 'text/plain', 'application/vnd.ms-excel'], DELIMITED),
  type('tsv', ['text/tab-separated-values', 'text/plain'], DELIMITED),
  type('xlsx', [XLSX_MIME], ['xlsx', 'xls']),
  type('xls', ['application/vnd.ms-excel'], ['xls', 'xlsx', 'html', ...DELIMITED]),
  type('json', ['application/json', 'text/json'], ['json', 'jsonl']),
  type('jsonl', ['application/jsonl', 'application/x-ndjson', 'text/plain'], ['jsonl', 'json']),
  type('ndjson', ['application/x-ndjson', 'application/jsonl', 'text/plain'], ['jsonl', 'json']),
  type('txt', ['text/plain'], ['text', 'json', 'jsonl', 'html', ...DELIMITED]),
  type('log', ['text/plain'], ['text', 'json', 'jsonl', ...DELIMITED]),
  type('md', ['text/markdown', 'text/plain'], ['text']),
  type('parquet', ['application/vnd.apache.parquet', 'application/octet-stream'], ['parquet']),
  type('pdf', ['application/pdf'], ['pdf']),
  type('png', ['image/png'], ['image']),
  type('jpg', ['image/jpeg'], ['image']),
  type('jpeg', ['image/jpeg'], ['image']),
  type('gif', ['image/gif'], ['image']),
  type('webp', ['image/webp'], ['image']),
];

/** The accepted types for a configured list of extensions, in its order. Throws a plain error that names an unknown one (configuration). */
export function selectTypes(extensions: readonly string[]): readonly AcceptedType[] {
  return extensions.map((given) => {
    const extension = given.trim().toLowerCase().replace(/^\./, '');
    const found = ACCEPTED_TYPES.find((each) => each.extension === extension);
    if (found) return found;
    const known = ACCEPTED_TYPES.map((each) => each.extension).join(', ');
    throw new Error(`file type "${given}" is not one that can be accepted; known: ${known}`);
  });
}

/** Lower-case extension of a name, or `''`. */
export function extensionOf(name: string): string {
  return /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
}

/** The type that a name claims. Errors: `unsupported_type`, with the accepted extensions in `fields.accepted`. */
export function typeByName(name: string, types: readonly AcceptedType[] = ACCEPTED_TYPES): AcceptedType {
  const extension = extensionOf(name);
  const found = types.find((each) => each.extension === extension);
  if (found) return found;
  const what =
    extension === ''
      ? { zh: '没有扩展名', en: 'has no extension' }
      : { zh: `是 .${extension} 文件`, en: `is a .${extension} file` };
  throw unsupported(name, what, types);
}

export interface UploadRules {
  readonly maxBytes: number;
  readonly types?: readonly AcceptedType[];
}

/**
 * What can be refused before a byte is sent: size and extension. The name itself is checked by `acceptFileName` of `@moli/objects`.
 * Errors: `file_too_large`, `empty_file`, `unsupported_type`.
 */
export function checkUpload(file: { readonly name: string; readonly bytes: number }, rules: UploadRules): AcceptedType {
  const found = typeByName(file.name, rules.types);
  if (file.bytes === 0) throw emptyFile(file.name);
  if (file.bytes > rules.maxBytes) {
    const [size, limit] = [showBytes(file.bytes), showBytes(rules.maxBytes)];
    throw new AppError(
      'file_too_large',
      {
        zh: `文件“${file.name}”有 ${size}，超过了单个文件 ${limit} 的上限。请拆分或压缩数据（例如只保留需要的列）后再上传。`,
        en: `The file “${file.name}” has ${size}; one file may have at most ${limit}. Split it, or keep only the columns you need, and upload again.`,
      },
      { fields: { bytes: file.bytes, maxBytes: rules.maxBytes } },
    );
  }
  return found;
}

export function emptyFile(name: string): AppError {
  return new AppError('empty_file', {
    zh: `文件“${name}”没有内容（0 字节或只有空白）。请检查导出是否完成，然后重新上传。`,
    en: `The file “${name}” has no content (0 bytes or only blanks). Check that its export finished and upload it again.`,
  });
}

/** A refusal that says what the file is and what is accepted. `found` continues the sentence “the file …”. */
export function unsupported(
  name: string,
  found: { zh: string; en: string },
  types: readonly AcceptedType[] = ACCEPTED_TYPES,
): AppError {
  const accepted = types.map((each) => each.extension);
  const list = accepted.map((extension) => `.${extension}`).join(' ');
  return new AppError(
    'unsupported_type',
    {
      zh: `文件“${name}”${found.zh}，不能接受。可以上传：${list}。`,
      en: `The file “${name}” ${found.en}, which is not accepted. You can upload: ${list}.`,
    },
    { fields: { accepted } },
  );
}

/** Sizes the way people read them: exact bytes when small, else in units of 1,024; exact bytes beside it where rounding hides the point. */
export function showBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  for (const [unit, size] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const) {
    if (bytes < size) continue;
    const value = bytes / size;
    if (Number.isInteger(value)) return `${value} ${unit}`;
    const exact = value - Math.floor(value) < 0.01 ? ` (${bytes.toLocaleString('en-US')} B)` : '';
    return `${Math.floor(value * 100) / 100} ${unit}${exact}`;
  }
  return `${bytes} B`;
}
