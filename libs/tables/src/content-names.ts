/** What a refused file is, in words that finish “the file …”. */
export interface Found {
  readonly zh: string;
  readonly en: string;
}

const is = (zh: string, en: string): Found => ({ zh: `实际上是${zh}`, en: `is really ${en}` });

/** By the type that the first bytes show (names of the `file-type` package). */
const BY_MIME: Readonly<Record<string, Found>> = {
  'application/x-msdownload': is('Windows 程序（EXE）', 'a Windows program (EXE)'),
  'application/x-elf': is(' Linux 程序（ELF）', 'a Linux program (ELF)'),
  'application/x-mach-binary': is(' macOS 程序', 'a macOS program'),
  'application/zip': is(' ZIP 压缩包，请解压后上传里面的文件', 'a ZIP archive; unpack it and upload the files in it'),
  'application/x-rar-compressed': is(
    ' RAR 压缩包，请解压后上传里面的文件',
    'a RAR archive; unpack it and upload the files in it',
  ),
  'application/x-7z-compressed': is(
    ' 7z 压缩包，请解压后上传里面的文件',
    'a 7z archive; unpack it and upload the files in it',
  ),
  'application/gzip': is(' gzip 压缩文件，请解压后上传', 'a gzip file; unpack it and upload what is in it'),
  'application/x-tar': is(' tar 归档，请解开后上传里面的文件', 'a tar archive; unpack it and upload the files in it'),
  'image/png': is(' PNG 图片', 'a PNG image'),
  'image/jpeg': is(' JPEG 图片', 'a JPEG image'),
  'image/gif': is(' GIF 图片', 'a GIF image'),
  'image/webp': is(' WebP 图片', 'a WebP image'),
  'application/pdf': is(' PDF 文档', 'a PDF document'),
  'application/x-cfb': is('旧版 Office 文档', 'an old Office document'),
  'application/vnd.apache.parquet': is(' Parquet 数据文件', 'a Parquet file'),
  'application/x-sqlite3': is(' SQLite 数据库', 'a SQLite database'),
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': is(' Word 文档', 'a Word document'),
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': is(
    ' PowerPoint 文稿',
    'a PowerPoint presentation',
  ),
  'application/vnd.ms-excel.sheet.binary.macroenabled.12': is(
    ' .xlsb 二进制工作簿，请另存为 .xlsx',
    'a binary workbook (.xlsb); save it as .xlsx',
  ),
  'application/vnd.oasis.opendocument.spreadsheet': is(
    ' OpenDocument 表格（.ods），请另存为 .xlsx',
    'an OpenDocument spreadsheet (.ods); save it as .xlsx',
  ),
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': is(
    ' Excel 工作簿，请把扩展名改为 .xlsx',
    'an Excel workbook; rename it to .xlsx',
  ),
  'application/vnd.ms-excel': is('旧版 Excel 工作簿，请把扩展名改为 .xls', 'an old Excel workbook; rename it to .xls'),
  'text/html': is('网页（HTML）', 'a web page (HTML)'),
  'application/xml': is(' XML 文本', 'XML text'),
  'application/rtf': is(' RTF 文档', 'an RTF document'),
  'application/json': is(' JSON，请把扩展名改为 .json', 'JSON; rename it to .json'),
  'application/jsonl': is(' JSON Lines，请把扩展名改为 .jsonl', 'JSON lines; rename it to .jsonl'),
  'text/csv': is('纯文本表格，请把扩展名改为 .csv', 'delimited text; rename it to .csv'),
  'text/tab-separated-values': is('制表符分隔的文本，请把扩展名改为 .tsv', 'tab-separated text; rename it to .tsv'),
  'text/plain': is('纯文本', 'plain text'),
};

/** Words for a type; the type itself where there are none. */
export function foundName(mimeType: string | null): Found {
  if (mimeType === null) return is('无法识别的二进制数据', 'binary data of an unknown kind');
  return BY_MIME[mimeType] ?? is(` ${mimeType}`, mimeType);
}
