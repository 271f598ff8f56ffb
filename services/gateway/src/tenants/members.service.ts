import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import type { Role } from '../database/schema.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { Invalidations } from '../identity/invalidation.ts';
import { assertRole } from '../identity/roles.ts';
import { UsersStore } from '../identity/users.store.ts';
import { type MemberRow, MembersStore } from './members.store.ts';
import type { Member } from './tenants.schema.ts';

/** Members of a tenant. Only an owner gives or takes the role of owner, and one owner always stays. */
@Injectable()
export class MembersService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(MembersStore) private readonly store: MembersStore,
    @Inject(UsersStore) private readonly users: UsersStore,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(Invalidations) private readonly invalidations: Invalidations,
  ) {}

  async list(caller: Caller): Promise<Member[]> {
    const rows = await this.db.as(caller.tenantId, (tx) => this.store.list(tx));
    const people = new Map((await this.users.findAll(rows.map((row) => row.user_id))).map((user) => [user.id, user]));
    return rows.flatMap((row) => {
      const person = people.get(row.user_id);
      if (!person) return [];
      return [
        {
          userId: row.user_id,
          email: person.email,
          name: person.name,
          role: row.role,
          createdAt: row.created_at.toISOString(),
        },
      ];
    });
  }

  /** Errors: `not_found`, `forbidden` (only owners touch owners), `conflict` (the last owner). */
  async setRole(caller: Caller, userId: string, role: Role): Promise<Member> {
    await this.db.as(caller.tenantId, async (tx) => {
      const before = await this.#touchable(tx, caller, userId, role);
      await this.store.setRole(tx, userId, role);
      await this.audit.append(tx, caller, {
        action: 'member.role',
        target: userId,
        outcome: 'ok',
        detail: { from: before.role, to: role },
      });
    });
    await this.invalidations.publish({ kind: 'user', id: userId });
    const member = (await this.list(caller)).find((one) => one.userId === userId);
    if (!member) throw noMember();
    return member;
  }

  /** Ends the membership; keys of the person stop working in this tenant. Errors as for `setRole`. */
  async remove(caller: Caller, userId: string): Promise<void> {
    await this.db.as(caller.tenantId, async (tx) => {
      await this.#touchable(tx, caller, userId, null);
      await this.store.remove(tx, userId);
      await this.audit.append(tx, caller, { action: 'member.remove', target: userId, outcome: 'ok' });
    });
    await this.invalidations.publish({ kind: 'user', id: userId });
  }

  async #touchable(tx: TenantTx, caller: Caller, userId: string, next: Role | null): Promise<MemberRow> {
    const all = await this.store.lockAll(tx);
    const member = all.find((row) => row.user_id === userId);
    if (!member) throw noMember();
    if (member.role === 'owner' || next === 'owner') assertRole(caller.role, 'owner');
    if (member.role === 'owner' && next !== 'owner' && all.filter((row) => row.role === 'owner').length === 1) {
      throw new AppError('conflict', {
        zh: '这是最后一位所有者。请先把另一位成员设为所有者。',
        en: 'This is the last owner. Make another member an owner first.',
      });
    }
    return member;
  }
}

const noMember = () => new AppError('not_found', { zh: '没有这位成员。', en: 'There is no such member.' });
