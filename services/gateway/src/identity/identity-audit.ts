import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { type AuditRow, AuditStore } from '../audit/audit.store.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { type User, UsersStore } from './users.store.ts';

/** Audit rows of what a person does before a tenant is chosen: one in each tenant of theirs. */
@Injectable()
export class IdentityAudit {
  constructor(
    @Inject(UsersStore) private readonly users: UsersStore,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(AuditStore) private readonly audit: AuditStore,
  ) {}

  async record(user: Pick<User, 'id'>, row: AuditRow): Promise<void> {
    for (const { tenantId } of await this.users.memberships(user.id)) {
      await this.db.as(tenantId, (tx) =>
        this.audit.append(tx, { actor: `user:${user.id}` }, { target: user.id, ...row }),
      );
    }
  }

  /** A refused attempt on a known address. An unknown one belongs to no tenant: it shows in the metrics and the log alone. */
  async recordRefusal(email: string, row: Omit<AuditRow, 'outcome'>): Promise<void> {
    const user = await this.users.findByEmail(email);
    if (user) await this.record(user, { ...row, outcome: 'refused' });
    else log.info('sign-in with an unknown address was refused', {});
  }
}
