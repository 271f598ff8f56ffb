import { Inject, Injectable } from '@nestjs/common';
import { TenantDb } from '../database/tenant-db.ts';
import type { Caller } from './caller.ts';
import type { Me } from './identity.schema.ts';
import type { FoundSession } from './session-lookup.ts';
import { UsersStore } from './users.store.ts';

@Injectable()
export class MeService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(UsersStore) private readonly users: UsersStore,
  ) {}

  /** The caller as the UI shows it. A key sees its own tenant alone. */
  async describe(caller: Caller, person: FoundSession | undefined): Promise<Me> {
    const tenant = await this.db.as(caller.tenantId, (tx) =>
      tx.selectFrom('tenants').select(['id', 'name']).where('id', '=', caller.tenantId).executeTakeFirstOrThrow(),
    );
    const tenants = person
      ? person.memberships.map(({ tenantId, tenantName, role }) => ({ id: tenantId, name: tenantName, role }))
      : [{ ...tenant, role: caller.role }];
    return {
      user: person?.user ?? null,
      tenant,
      role: caller.role,
      tenants,
      hasPassword: person ? await this.users.hasPassword(person.user.id) : false,
    };
  }
}
