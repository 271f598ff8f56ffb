import type { Locale } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { AuditStore } from '../audit/audit.store.ts';
import type { Database } from '../database/schema.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import { newId } from '../ids.ts';
import { AUTH_DB } from '../tokens.ts';
import { MembersStore } from './members.store.ts';
import { TenantStart } from './tenant-start.ts';

export interface Tenant {
  readonly id: string;
  readonly name: string;
}

export interface TenantOptions {
  /** Language of its default agent; that of the configuration when it is not named. */
  readonly locale?: Locale | undefined;
  /** What else has to be there or not at all, in the same transaction. */
  readonly more?: (tx: TenantTx) => Promise<void>;
}

/** Tenants: made by the operator on the command line. */
@Injectable()
export class TenantsService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(AUTH_DB) private readonly auth: Kysely<Database>,
    @Inject(MembersStore) private readonly members: MembersStore,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(TenantStart) private readonly start: TenantStart,
  ) {}

  /** A tenant with what it needs to work at once: a default agent, the configured model, and its owner when one is named. */
  async create(name: string, ownerId: string | null, { locale, more }: TenantOptions = {}): Promise<Tenant> {
    const id = newId('ten');
    await this.db.as(id, async (tx) => {
      await tx.insertInto('tenants').values({ id, name }).execute();
      if (ownerId) await this.members.add(tx, ownerId, 'owner');
      await this.start.fill(tx, id, locale);
      await this.audit.append(tx, { actor: 'system' }, { action: 'tenant.create', target: id, outcome: 'ok' });
      await more?.(tx);
    });
    return { id, name };
  }

  /** Gives an existing tenant the model of the configuration, new or with another key; its other models stay as they are. Answers whether it has a model. */
  async refreshModel({ id }: Pick<Tenant, 'id'>): Promise<boolean> {
    return this.db.as(id, (tx) => this.start.refresh(tx, id));
  }

  /** By id or by name; the oldest tenant when nothing is named. */
  async find(wanted: string | undefined): Promise<Tenant | undefined> {
    const query = this.auth.selectFrom('tenants').select(['id', 'name']);
    if (wanted === undefined) return this.oldest();
    return query
      .where((eb) => eb.or([eb('id', '=', wanted), eb('name', '=', wanted)]))
      .orderBy('id')
      .executeTakeFirst();
  }

  /** The tenant that the first start made. Membership dates tell its age: moli_auth reads no more of a tenant than its name. */
  async oldest(): Promise<Tenant | undefined> {
    return this.auth
      .selectFrom('tenants')
      .leftJoin('members', 'members.tenant_id', 'tenants.id')
      .select(['tenants.id', 'tenants.name'])
      .orderBy('members.created_at', (order) => order.asc().nullsLast())
      .orderBy('tenants.id')
      .limit(1)
      .executeTakeFirst();
  }

  /** Id of the person who has owned the tenant longest. */
  async firstOwner(tenantId: string): Promise<string | undefined> {
    const row = await this.auth
      .selectFrom('members')
      .select('user_id')
      .where('tenant_id', '=', tenantId)
      .where('role', '=', 'owner')
      .orderBy('created_at')
      .limit(1)
      .executeTakeFirst();
    return row?.user_id;
  }
}
