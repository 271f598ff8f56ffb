/**
 * What is in a file: content check, encoding, columns, rows, sheets, shape.
 *
 * - `checkUpload({ name, bytes }, { maxBytes, types? })` → the accepted type: what can be refused before a byte is sent.
 *   Throws `file_too_large`, `empty_file`, `unsupported_type`.
 * - `describeFile({ path } | { buffer }, { name, types? })` → `FileDescription`: by content. Streams; memory does not grow with the file.
 *   Throws `unsupported_type` (what it is and what is accepted), `unreadable_file`, `empty_file`.
 * - `describeForModel({ name, bytes, description }, locale)` → at most 4 KiB of UTF-8 text for a model: names, types, notes, no values.
 * - `ACCEPTED_TYPES` and `selectTypes(['csv', 'xlsx'])`: kinds of files by extension `{ extension, mimeTypes, kinds }`.
 */
export {
  ACCEPTED_TYPES,
  type AcceptedType,
  checkUpload,
  selectTypes,
  showBytes,
  type UploadRules,
} from './accepted-types.ts';
export { type DescribeOptions, describeFile } from './describe-file.ts';
export { DESCRIPTION_BYTES, type DescribedFile, describeForModel } from './describe-for-model.ts';
export type {
  Column,
  ColumnType,
  FileDescription,
  FileKind,
  FileSource,
  Note,
  Preview,
  Shape,
  Sheet,
  Table,
} from './description.ts';
