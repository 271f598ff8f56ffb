import { Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database, Role } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';

export type KeyRow = Omit<Selectable<Database['api_keys']>, 'hash'>;

const COLUMNS = [
  'tenant_id',
  'id',
  'user_id',
  'role',
  'name',
  'prefix',
  'created_at',
  'last_used_at',
  'revoked_at',
] as const;

/** Rows of API keys; the hash is written here and read by the look-up alone. */
@Injectable()
export class KeysStore {
  async insert(
    tx: TenantTx,
    key: { id: string; userId: string | null; role: Role; name: string; hash: Buffer; prefix: string },
  ): Promise<KeyRow> {
    return tx
      .insertInto('api_keys')
      .values({ id: key.id, user_id: key.userId, role: key.role, name: key.name, hash: key.hash, prefix: key.prefix })
      .returning(COLUMNS)
      .executeTakeFirstOrThrow();
  }

  /** Keys that were not revoked, newest first; `userId` narrows to one person's. */
  async list(tx: TenantTx, userId?: string): Promise<KeyRow[]> {
    let query = tx.selectFrom('api_keys').select(COLUMNS).where('revoked_at', 'is', null);
    if (userId !== undefined) query = query.where('user_id', '=', userId);
    return query.orderBy('created_at', 'desc').orderBy('id').limit(500).execute();
  }

  async count(tx: TenantTx): Promise<number> {
    const { n } = await tx
      .selectFrom('api_keys')
      .select((eb) => eb.fn.countAll<string>().as('n'))
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow();
    return Number(n);
  }

  async find(tx: TenantTx, id: string): Promise<KeyRow | undefined> {
    return tx
      .selectFrom('api_keys')
      .select(COLUMNS)
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
  }

  /** Answers the hash, by which caches know the key; undefined when it was revoked already. */
  async revoke(tx: TenantTx, id: string): Promise<Buffer | undefined> {
    const row = await tx
      .updateTable('api_keys')
      .set({ revoked_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .returning('hash')
      .executeTakeFirst();
    return row?.hash;
  }
}
