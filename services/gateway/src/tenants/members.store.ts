import { Injectable } from '@nestjs/common';
import type { Role } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';

export interface MemberRow {
  readonly user_id: string;
  readonly role: Role;
  readonly created_at: Date;
}

@Injectable()
export class MembersStore {
  async list(tx: TenantTx): Promise<MemberRow[]> {
    return tx
      .selectFrom('members')
      .select(['user_id', 'role', 'created_at'])
      .orderBy('created_at')
      .limit(1000)
      .execute();
  }

  /** Locked until the transaction ends, all of the tenant in one order: who counts the owners may trust the number. */
  async lockAll(tx: TenantTx): Promise<MemberRow[]> {
    return tx.selectFrom('members').select(['user_id', 'role', 'created_at']).orderBy('user_id').forUpdate().execute();
  }

  /** A person who is a member already keeps their role. Answers whether a row was added. */
  async add(tx: TenantTx, userId: string, role: Role): Promise<boolean> {
    const result = await tx
      .insertInto('members')
      .values({ user_id: userId, role })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'user_id']).doNothing())
      .executeTakeFirst();
    return Number(result.numInsertedOrUpdatedRows ?? 0) > 0;
  }

  async setRole(tx: TenantTx, userId: string, role: Role): Promise<void> {
    await tx.updateTable('members').set({ role }).where('user_id', '=', userId).execute();
  }

  async remove(tx: TenantTx, userId: string): Promise<void> {
    await tx.deleteFrom('members').where('user_id', '=', userId).execute();
  }
}
