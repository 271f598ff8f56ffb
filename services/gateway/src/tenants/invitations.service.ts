import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import type { GatewayConfig } from '../config.ts';
import type { Role } from '../database/schema.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { assertRole } from '../identity/roles.ts';
import { newId } from '../ids.ts';
import { CONFIG } from '../tokens.ts';
import { type InvitationRow, InvitationsStore } from './invitations.store.ts';
import type { Invitation } from './tenants.schema.ts';

/** An invited person has a week to come. */
const VALID_MS = 7 * 86_400_000;

export const tokenHash = (token: string): Buffer => createHash('sha256').update(token).digest();

const shown = (row: InvitationRow): Invitation => ({
  id: row.id,
  email: row.email,
  role: row.role,
  expiresAt: row.expires_at.toISOString(),
  createdAt: row.created_at.toISOString(),
});

/** Invitations without e-mail: a one-time link that an administrator hands over. Accepting is in accept.service.ts. */
@Injectable()
export class InvitationsService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(InvitationsStore) private readonly store: InvitationsStore,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  /** `inviter` has a tenant and an actor; a role above their own is `forbidden`. */
  async create(
    inviter: { readonly tenantId: string; readonly actor: string; readonly role: Role },
    { email, role }: { email: string; role: Role },
  ): Promise<Invitation & { link: string }> {
    assertRole(inviter.role, role);
    const token = randomBytes(32).toString('base64url');
    const row = await this.db.as(inviter.tenantId, async (tx) => {
      const created = await this.store.insert(tx, {
        id: newId('inv'),
        email: email.toLowerCase(),
        role,
        tokenHash: tokenHash(token),
        expiresAt: new Date(Date.now() + VALID_MS),
      });
      await this.audit.append(tx, inviter, {
        action: 'invitation.create',
        target: created.id,
        outcome: 'ok',
        detail: { role },
      });
      return created;
    });
    return { ...shown(row), link: `${this.config.publicUrl}/#invite=${token}` };
  }

  async list(tenantId: string): Promise<Invitation[]> {
    return this.db.as(tenantId, async (tx) => (await this.store.listOpen(tx)).map(shown));
  }

  /** Errors: `not_found`. */
  async withdraw(caller: { readonly tenantId: string; readonly actor: string }, id: string): Promise<void> {
    await this.db.as(caller.tenantId, async (tx) => {
      if (!(await this.store.delete(tx, id)))
        throw new AppError('not_found', { zh: '没有这个邀请。', en: 'There is no such invitation.' });
      await this.audit.append(tx, caller, { action: 'invitation.withdraw', target: id, outcome: 'ok' });
    });
  }
}
