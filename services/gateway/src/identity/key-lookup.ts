import { createHash } from 'node:crypto';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { AuditStore } from '../audit/audit.store.ts';
import type { Database, Role } from '../database/schema.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { AUTH_DB } from '../tokens.ts';
import { ExpiringMap } from './expiring-map.ts';
import { Invalidations } from './invalidation.ts';
import { weaker } from './roles.ts';

/** `moli_` and 256 random bits in base64url: too many to guess, so a fast hash is enough to store them. */
const KEY = /^moli_[A-Za-z0-9_-]{43}$/;

const CACHE_MS = 5_000;
const CACHED_KEYS = 10_000;
/** `last_used_at` is exact to this many milliseconds; writing it at each request would cost more than the request. */
const TOUCH_MS = 60_000;

export function keyHash(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

export interface FoundKey {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string | null;
  readonly role: Role;
}

/** Finds API keys by their hash. Answers, the empty one too, are kept for 5 s; a revocation is published and drops them at once. */
@Injectable()
export class KeyLookup {
  readonly #cache = new ExpiringMap<FoundKey | null>(CACHE_MS, CACHED_KEYS);
  readonly #touched = new ExpiringMap<true>(TOUCH_MS, CACHED_KEYS);
  readonly #refused = new ExpiringMap<true>(TOUCH_MS, CACHED_KEYS);

  constructor(
    @Inject(AUTH_DB) private readonly db: Kysely<Database>,
    @Inject(TenantDb) private readonly tenants: TenantDb,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(Invalidations) invalidations: Invalidations,
  ) {
    invalidations.listen((message) => {
      if (message.kind === 'key') this.#cache.delete(message.hash);
      else this.#cache.deleteWhere((key) => key?.userId === message.id);
    });
  }

  /** The key, or null when it is unknown, revoked, or its person is no member any more. */
  async find(key: string): Promise<FoundKey | null> {
    if (!KEY.test(key)) return null;
    const hash = keyHash(key);
    const cacheKey = hash.toString('hex');
    const cached = this.#cache.get(cacheKey);
    if (cached !== undefined) return cached;
    const found = await this.#load(hash);
    this.#cache.set(cacheKey, found);
    if (found) this.#touch(found);
    return found;
  }

  async #load(hash: Buffer): Promise<FoundKey | null> {
    const row = await this.db
      .selectFrom('api_keys as k')
      .leftJoin('members as m', (join) =>
        join.onRef('m.tenant_id', '=', 'k.tenant_id').onRef('m.user_id', '=', 'k.user_id'),
      )
      .select(['k.id', 'k.tenant_id', 'k.user_id', 'k.role', 'k.revoked_at', 'm.role as member_role'])
      .where('k.hash', '=', hash)
      .executeTakeFirst();
    if (!row) return null;
    if (row.revoked_at !== null || (row.user_id !== null && row.member_role === null)) {
      this.#recordRefusal(row.tenant_id, row.id);
      return null;
    }
    const role = row.member_role === null ? row.role : weaker(row.role, row.member_role);
    return { id: row.id, tenantId: row.tenant_id, userId: row.user_id, role };
  }

  #touch(key: FoundKey): void {
    if (this.#touched.get(key.id)) return;
    this.#touched.set(key.id, true);
    this.tenants
      .as(key.tenantId, (tx) =>
        tx
          .updateTable('api_keys')
          .set({ last_used_at: sql<Date>`now()` })
          .where('id', '=', key.id)
          .where((eb) =>
            eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', sql<Date>`now() - interval '1 minute'`)]),
          )
          .execute(),
      )
      .catch((error) => log.warn('the last use of a key was not written', { tenant: key.tenantId, error }));
  }

  /** At most one row a minute for each key: a forgotten script with an old key asks often. */
  #recordRefusal(tenantId: string, keyId: string): void {
    if (this.#refused.get(keyId)) return;
    this.#refused.set(keyId, true);
    this.tenants
      .as(tenantId, (tx) =>
        this.audit.append(tx, { actor: `key:${keyId}` }, { action: 'key.use', target: keyId, outcome: 'refused' }),
      )
      .catch((error) => log.warn('an audit row was not written', { tenant: tenantId, error }));
  }
}
