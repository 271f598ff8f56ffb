import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { Attempts } from '../identity/attempts.ts';
import { Invalidations } from '../identity/invalidation.ts';
import { type User, UsersStore } from '../identity/users.store.ts';
import { tokenHash } from './invitations.service.ts';
import { InvitationsStore } from './invitations.store.ts';
import { MembersStore } from './members.store.ts';
import type { OpenInvitation } from './tenants.schema.ts';

/** The invited person's side: look at an invitation, accept it. The token is the credential; it works once. */
@Injectable()
export class AcceptService {
  constructor(
    @Inject(InvitationsStore) private readonly store: InvitationsStore,
    @Inject(MembersStore) private readonly members: MembersStore,
    @Inject(UsersStore) private readonly users: UsersStore,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(Invalidations) private readonly invalidations: Invalidations,
    @Inject(Attempts) private readonly attempts: Attempts,
  ) {}

  /** Errors: `link_invalid`. */
  async look(token: string, address: string): Promise<OpenInvitation> {
    const found = await this.#find(token, address);
    return {
      email: found.email,
      tenant: { name: found.tenantName },
      hasAccount: (await this.users.findByEmail(found.email)) !== undefined,
    };
  }

  /**
   * Makes the person if the address is new, else checks their password, and adds the membership. Answers the address to sign in with. Errors:
   * `link_invalid` (unknown, used, expired), `forbidden` (the address has an account and the password is not its own).
   */
  async accept(token: string, address: string, wanted: { name: string; password: string }): Promise<string> {
    const found = await this.#find(token, address);
    const user = await this.#person(found.email, address, wanted);
    await this.db.as(found.tenant_id, async (tx) => {
      if (!(await this.store.use(tx, found.id))) throw invalid();
      await this.members.add(tx, user.id, found.role);
      await this.audit.append(
        tx,
        { actor: `user:${user.id}` },
        { action: 'invitation.accept', target: found.id, outcome: 'ok' },
      );
    });
    await this.invalidations.publish({ kind: 'user', id: user.id });
    return user.email;
  }

  async #find(token: string, address: string) {
    await this.attempts.take('link', address);
    const found = await this.store.findOpen(tokenHash(token));
    if (!found) throw invalid();
    return found;
  }

  async #person(email: string, address: string, { name, password }: { name: string; password: string }): Promise<User> {
    const known = await this.users.findByEmail(email);
    if (!known) {
      const made = await this.users.create(email, name);
      await this.users.setPassword(made.id, password);
      return made;
    }
    // Without a password nothing proves that the account is theirs: whoever made the invitation holds its link too.
    if (!(await this.users.hasPassword(known.id))) {
      throw new AppError('forbidden', {
        zh: '这个邮箱已有账号但还没有密码。请先用一次性登录链接登录并设置密码，再接受邀请。',
        en: 'This address has an account without a password. Sign in with a one-time link, set a password, then accept the invitation.',
      });
    }
    await this.attempts.take('address', address);
    await this.attempts.take('account', email);
    if (!(await this.users.checkPassword(known.id, password))) {
      throw new AppError('forbidden', {
        zh: '这个邮箱已有账号，请输入它现在的密码。',
        en: 'This address has an account already. Enter its current password.',
      });
    }
    await Promise.all([this.attempts.giveBack('address', address), this.attempts.giveBack('account', email)]);
    return known;
  }
}

const invalid = () =>
  new AppError('link_invalid', {
    zh: '这个邀请链接已用过、已过期或不完整，请让管理员重新邀请。',
    en: 'This invitation was used, has expired or is incomplete. Ask an administrator to invite you again.',
  });
