import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import type { Database, Role } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';
import { AUTH_DB } from '../tokens.ts';

export interface InvitationRow {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expires_at: Date;
  readonly created_at: Date;
}

const COLUMNS = ['id', 'email', 'role', 'expires_at', 'created_at'] as const;

@Injectable()
export class InvitationsStore {
  constructor(@Inject(AUTH_DB) private readonly auth: Kysely<Database>) {}

  async insert(
    tx: TenantTx,
    row: { id: string; email: string; role: Role; tokenHash: Buffer; expiresAt: Date },
  ): Promise<InvitationRow> {
    return tx
      .insertInto('invitations')
      .values({ id: row.id, email: row.email, role: row.role, token_hash: row.tokenHash, expires_at: row.expiresAt })
      .returning(COLUMNS)
      .executeTakeFirstOrThrow();
  }

  /** Neither used nor expired, newest first. */
  async listOpen(tx: TenantTx): Promise<InvitationRow[]> {
    return tx
      .selectFrom('invitations')
      .select(COLUMNS)
      .where('used_at', 'is', null)
      .where('expires_at', '>', sql<Date>`now()`)
      .orderBy('created_at', 'desc')
      .limit(500)
      .execute();
  }

  async delete(tx: TenantTx, id: string): Promise<boolean> {
    const result = await tx
      .deleteFrom('invitations')
      .where('id', '=', id)
      .where('used_at', 'is', null)
      .executeTakeFirst();
    return Number(result.numDeletedRows) > 0;
  }

  /** Before the tenant is known: the invitation that a token opens, or undefined when it opens none. */
  async findOpen(tokenHash: Buffer) {
    return this.auth
      .selectFrom('invitations')
      .innerJoin('tenants', 'tenants.id', 'invitations.tenant_id')
      .select([
        'invitations.tenant_id',
        'tenants.name as tenantName',
        'invitations.id',
        'invitations.email',
        'invitations.role',
      ])
      .where('token_hash', '=', tokenHash)
      .where('used_at', 'is', null)
      .where('expires_at', '>', sql<Date>`now()`)
      .executeTakeFirst();
  }

  /** Marks it used; of two at once exactly one is answered true. */
  async use(tx: TenantTx, id: string): Promise<boolean> {
    const result = await tx
      .updateTable('invitations')
      .set({ used_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('used_at', 'is', null)
      .executeTakeFirst();
    return Number(result.numUpdatedRows) > 0;
  }
}
