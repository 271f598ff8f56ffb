import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { Attempts } from './attempts.ts';
import { IdentityAudit } from './identity-audit.ts';
import { Invalidations } from './invalidation.ts';
import type { FoundSession } from './session-lookup.ts';
import { SignInService } from './sign-in.service.ts';
import { UsersStore } from './users.store.ts';

/** Setting and changing one's own password. */
@Injectable()
export class PasswordService {
  constructor(
    @Inject(UsersStore) private readonly users: UsersStore,
    @Inject(SignInService) private readonly signIn: SignInService,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(IdentityAudit) private readonly audit: IdentityAudit,
    @Inject(Invalidations) private readonly invalidations: Invalidations,
  ) {}

  /**
   * Sets the password and ends every other session of the person. The current password is asked for, unless there is none yet or the person came
   * by a one-time link just now. Errors: `forbidden` (current password missing or wrong), `rate_limited`.
   */
  async set(
    person: FoundSession,
    wanted: { password: string; currentPassword?: string | undefined },
    address: string,
  ): Promise<void> {
    const { user, sessionToken } = person;
    if (!(await this.#mayDoWithout(person))) await this.#check(user.id, user.email, wanted.currentPassword, address);
    await this.users.setPassword(user.id, wanted.password);
    await this.users.endSessions(user.id, sessionToken);
    await this.audit.record(user, { action: 'password.set', outcome: 'ok' });
    await this.invalidations.publish({ kind: 'user', id: user.id });
  }

  async #mayDoWithout({ user, sessionToken }: FoundSession): Promise<boolean> {
    return !(await this.users.hasPassword(user.id)) || (await this.signIn.cameByLink(sessionToken));
  }

  async #check(userId: string, email: string, current: string | undefined, address: string): Promise<void> {
    await this.attempts.take('address', address);
    await this.attempts.take('account', email);
    if (current === undefined || !(await this.users.checkPassword(userId, current))) {
      await this.audit.record({ id: userId }, { action: 'password.set', outcome: 'refused' });
      throw new AppError('forbidden', {
        zh: current === undefined ? '请填写当前密码。' : '当前密码不对，密码没有改变。',
        en:
          current === undefined
            ? 'Give the current password too.'
            : 'The current password is wrong; nothing was changed.',
      });
    }
    await Promise.all([this.attempts.giveBack('address', address), this.attempts.giveBack('account', email)]);
  }
}
