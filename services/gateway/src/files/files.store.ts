import type { FileDescription } from '@moli/tables';
import { Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';

/** A row with its counts as numbers and its description typed. */
export type FileRow = Omit<Selectable<Database['files']>, 'bytes' | 'description'> & {
  bytes: number;
  description: FileDescription;
};

export type NewFile = Omit<FileRow, 'tenant_id' | 'created_at'>;

const toRow = (row: Selectable<Database['files']>): FileRow => ({
  ...row,
  bytes: Number(row.bytes),
  description: row.description as unknown as FileDescription,
});

/** The `files` table. */
@Injectable()
export class FilesStore {
  /** Inserts the row, or answers the one that the same upload made before: finishing twice is one file. */
  async insert(tx: TenantTx, file: NewFile): Promise<{ row: FileRow; isNew: boolean }> {
    const inserted = await tx
      .insertInto('files')
      .values({ ...file, description: JSON.stringify(file.description) })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'upload_id']).doNothing())
      .returningAll()
      .executeTakeFirst();
    if (inserted) return { row: toRow(inserted), isNew: true };
    const existing = await this.byUpload(tx, file.upload_id ?? '');
    if (!existing) throw new Error('a file was neither inserted nor found');
    return { row: existing, isNew: false };
  }

  async byUpload(tx: TenantTx, uploadId: string): Promise<FileRow | null> {
    const row = await tx.selectFrom('files').selectAll().where('upload_id', '=', uploadId).executeTakeFirst();
    return row ? toRow(row) : null;
  }

  async get(tx: TenantTx, id: string): Promise<FileRow | null> {
    const row = await tx.selectFrom('files').selectAll().where('id', '=', id).executeTakeFirst();
    return row ? toRow(row) : null;
  }

  /** Files of one session in the order of their upload. */
  async forSession(tx: TenantTx, sessionId: string): Promise<FileRow[]> {
    const rows = await tx
      .selectFrom('files')
      .selectAll()
      .where('session_id', '=', sessionId)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return rows.map(toRow);
  }

  /** Ties a file that was uploaded before its session to that session; false when it belongs to another one. */
  async adopt(tx: TenantTx, id: string, sessionId: string): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('files')
      .set({ session_id: sessionId })
      .where('id', '=', id)
      .where((where) => where.or([where('session_id', 'is', null), where('session_id', '=', sessionId)]))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Whether there was such a row to delete. */
  async delete(tx: TenantTx, id: string): Promise<boolean> {
    const { numDeletedRows } = await tx.deleteFrom('files').where('id', '=', id).executeTakeFirst();
    return numDeletedRows > 0n;
  }
}
