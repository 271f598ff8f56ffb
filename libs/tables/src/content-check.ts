import { AppError } from '@moli/errors';
import { fileTypeFromBuffer } from 'file-type';
import { Archive } from './archive.ts';
import type { ByteSource } from './byte-source.ts';
import { COMPOUND_MAGIC, streamNames } from './compound-file.ts';
import type { FileKind } from './description.ts';

/** Bytes that the recognition of other types looks at; magic numbers stand at the start. */
const HEAD_BYTES = 16 * 1024;

/** What binary content is. `kind` is null for everything that no name may carry here. */
export interface BinaryContent {
  readonly kind: FileKind | null;
  readonly mimeType: string | null;
}

const XLSX_MIME = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Which office document a zip is, by a part that each must have. */
const OFFICE_PARTS: readonly [RegExp, string][] = [
  [/^xl\/workbook\.bin$/, 'application/vnd.ms-excel.sheet.binary.macroenabled.12'],
  [/^xl\/(?:workbook|worksheets\/[^/]+)\.xml$/, XLSX_MIME],
  [/^word\/document\.xml$/, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  [/^ppt\/presentation\.xml$/, 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
];
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Recognises content that is no text, by its bytes alone. Errors: `unreadable_file` for a damaged, hostile or password-protected one. */
export async function checkBinary(source: ByteSource, name: string): Promise<BinaryContent> {
  const head = await source.read(0, HEAD_BYTES);
  if (head.subarray(0, 4).equals(Buffer.from('PK\x03\x04', 'latin1'))) return checkZip(source, name);
  if (head.subarray(0, 8).equals(COMPOUND_MAGIC)) return checkCompound(source, name);
  if (head.subarray(0, 4).toString('latin1') === 'PAR1') {
    const whole = (await source.read(source.bytes - 4, 4)).toString('latin1') === 'PAR1';
    if (!whole) throw cutOff(name, 'Parquet');
    return { kind: 'parquet', mimeType: 'application/vnd.apache.parquet' };
  }
  if (head.includes('%PDF-') && head.indexOf('%PDF-') < 1024) return { kind: 'pdf', mimeType: 'application/pdf' };
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  const mimeType = found?.mime ?? null;
  return { kind: mimeType !== null && IMAGES.has(mimeType) ? 'image' : null, mimeType };
}

async function checkZip(source: ByteSource, name: string): Promise<BinaryContent> {
  const archive = await Archive.open(source, name);
  try {
    const mimeType = OFFICE_PARTS.find(([part]) => archive.names.some((each) => part.test(each)))?.[1];
    if (mimeType) return { kind: mimeType === XLSX_MIME ? 'xlsx' : null, mimeType };
    const open = archive.has('mimetype') && archive.has('content.xml');
    return { kind: null, mimeType: open ? 'application/vnd.oasis.opendocument.spreadsheet' : 'application/zip' };
  } finally {
    archive.close();
  }
}

async function checkCompound(source: ByteSource, name: string): Promise<BinaryContent> {
  const streams = await streamNames(source);
  if (streams.includes('EncryptedPackage')) {
    throw new AppError(
      'unreadable_file',
      {
        zh: `文件“${name}”设有打开密码，无法读取。请在 Excel/WPS 中取消密码（文件 → 信息 → 保护工作簿），另存后重新上传。`,
        en: `The file “${name}” is password-protected and cannot be read. Remove the password in Excel (File → Info → Protect Workbook), save it and upload it again.`,
      },
      { fields: { reason: 'password_protected' } },
    );
  }
  const workbook = streams.some((stream) => stream === 'Workbook' || stream === 'Book');
  return workbook
    ? { kind: 'xls', mimeType: 'application/vnd.ms-excel' }
    : { kind: null, mimeType: 'application/x-cfb' };
}

function cutOff(name: string, what: string): AppError {
  return new AppError('unreadable_file', {
    zh: `文件“${name}”是不完整的 ${what} 文件：结尾缺失。请重新导出后上传。`,
    en: `The file “${name}” is an incomplete ${what} file: its end is missing. Export it again and upload it.`,
  });
}
