import { z } from 'zod';
import { isId } from '../ids.ts';

export const FileId = z.string().refine((id) => isId('file', id), { error: 'not a file id' });
const SessionId = z.string().refine((id) => isId('ses', id), { error: 'not a session id' });

const column = z.object({ name: z.string(), type: z.string() });
const note = z.object({ code: z.string(), zh: z.string(), en: z.string() });

/** A file as the API shows it. `table` is there for CSV, TSV and XLSX, as detected from the content on upload. */
export const File = z
  .object({
    id: FileId,
    name: z.string(),
    bytes: z.int(),
    sha256: z.string(),
    mimeType: z.string(),
    kind: z.string(),
    sessionId: SessionId.nullable(),
    createdAt: z.iso.datetime(),
    table: z
      .object({
        encoding: z.string().nullable(),
        delimiter: z.string().nullable(),
        columns: z.array(column),
        rows: z.int(),
      })
      .optional(),
    sheets: z
      .array(z.object({ name: z.string(), hidden: z.boolean(), columns: z.array(column), rows: z.int() }))
      .optional(),
    /** What a reader should know: doubts about encoding or header, ragged rows, formulas without values. */
    notes: z.array(note),
  })
  .meta({ id: 'File' });
export type File = z.infer<typeof File>;

export const FileList = z.object({ items: z.array(File) }).meta({ id: 'FileList' });

export const FileQuery = z.strictObject({ sessionId: SessionId });

/** A link lives an hour unless asked otherwise, a day at most. */
export const TokenRequest = z
  .strictObject({ expiresInSeconds: z.int().min(1).max(86_400).default(3600) })
  .meta({ id: 'TokenRequest' });
export const SignedFileLink = z
  .object({ url: z.string(), token: z.string(), expiresAt: z.iso.datetime() })
  .meta({ id: 'SignedFileLink' });
