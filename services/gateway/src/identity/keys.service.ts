import { randomBytes } from 'node:crypto';
import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import type { Role } from '../database/schema.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import { newId } from '../ids.ts';
import type { Caller } from './caller.ts';
import type { ApiKey } from './identity.schema.ts';
import { Invalidations } from './invalidation.ts';
import { keyHash } from './key-lookup.ts';
import { type KeyRow, KeysStore } from './keys.store.ts';
import { assertRole, atLeast, weaker } from './roles.ts';

/** Keys of one tenant that are valid at once; more point at a script that makes one each time it runs. */
const MAX_KEYS = 200;

function shown(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    role: row.role,
    userId: row.user_id,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
  };
}

/** API keys: made, shown once, listed, revoked. */
@Injectable()
export class KeysService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(KeysStore) private readonly store: KeysStore,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(Invalidations) private readonly invalidations: Invalidations,
  ) {}

  /** A person sees their own keys, an administrator all of the tenant. */
  async list(caller: Caller): Promise<ApiKey[]> {
    const all = atLeast(caller.role, 'admin');
    return this.db.as(caller.tenantId, async (tx) =>
      (await this.store.list(tx, all ? undefined : (caller.userId ?? ''))).map(shown),
    );
  }

  /** The key belongs to the caller's person and never does more than the caller. Without a role it may do what a member may, at most. */
  async create(caller: Caller, wanted: { name: string; role?: Role | undefined }): Promise<ApiKey & { key: string }> {
    const role = wanted.role ?? weaker(caller.role, 'member');
    assertRole(caller.role, role);
    return this.db.as(caller.tenantId, async (tx) => {
      if ((await this.store.count(tx)) >= MAX_KEYS) {
        throw new AppError('conflict', {
          zh: `有效的密钥已有 ${MAX_KEYS} 个，请先撤销不用的。`,
          en: `There are ${MAX_KEYS} valid keys already. Revoke some that are not used.`,
        });
      }
      return this.insert(tx, caller, { name: wanted.name, role, userId: caller.userId });
    });
  }

  /** For the first start and the command line too, which have no caller of a tenant. */
  async insert(
    tx: TenantTx,
    actor: { readonly actor: string },
    wanted: { name: string; role: Role; userId: string | null },
  ): Promise<ApiKey & { key: string }> {
    const key = `moli_${randomBytes(32).toString('base64url')}`;
    const row = await this.store.insert(tx, {
      id: newId('key'),
      ...wanted,
      hash: keyHash(key),
      prefix: key.slice(0, 12),
    });
    await this.audit.append(tx, actor, {
      action: 'key.create',
      target: row.id,
      outcome: 'ok',
      detail: { role: wanted.role },
    });
    return { ...shown(row), key };
  }

  /** Effective on every gateway within milliseconds. Errors: `not_found`, also for another person's key unless the caller is an administrator. */
  async revoke(caller: Caller, id: string): Promise<void> {
    const hash = await this.db.as(caller.tenantId, async (tx) => {
      const row = await this.store.find(tx, id);
      const own = row !== undefined && row.user_id !== null && row.user_id === caller.userId;
      const revoked = row && (own || atLeast(caller.role, 'admin')) ? await this.store.revoke(tx, id) : undefined;
      if (!revoked) throw new AppError('not_found', { zh: '没有这个密钥。', en: 'There is no such key.' });
      await this.audit.append(tx, caller, { action: 'key.revoke', target: id, outcome: 'ok' });
      return revoked;
    });
    await this.invalidations.publish({ kind: 'key', hash: hash.toString('hex') });
  }
}
