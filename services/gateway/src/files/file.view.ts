import type { File } from './files.schema.ts';
import type { FileRow } from './files.store.ts';

/** A row as the API shows it. */
export const viewOf = ({ id, name, bytes, sha256, mime_type, session_id, created_at, description }: FileRow): File => ({
  id,
  name,
  bytes,
  sha256,
  mimeType: mime_type,
  kind: description.kind,
  sessionId: session_id,
  createdAt: created_at.toISOString(),
  ...(description.table ? { table: { ...description.table, columns: [...description.table.columns] } } : {}),
  ...(description.sheets
    ? {
        sheets: description.sheets.map(({ name, hidden, columns, rows }) => ({
          name,
          hidden,
          columns: [...columns],
          rows,
        })),
      }
    : {}),
  notes: [...description.notes],
});
