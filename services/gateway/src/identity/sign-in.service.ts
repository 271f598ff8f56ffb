import { createHash } from 'node:crypto';
import { AppError } from '@moli/errors';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { Metrics } from '../metrics.ts';
import { REDIS } from '../tokens.ts';
import { Attempts } from './attempts.ts';
import { IdentityAudit } from './identity-audit.ts';
import { passwordsBusy } from './passwords.ts';
import { PEOPLE } from './people.token.ts';
import { CLIENT_IP_HEADER, type People } from './people.ts';
import type { User } from './users.store.ts';

/** After a one-time link a person may set a new password without the old one for this long, in seconds. */
const LINK_TRUST_SECONDS = 900;

/** What a successful sign-in answers. The token of the session is in the cookie alone. */
export interface SignedIn {
  readonly user: User;
  readonly setCookies: readonly string[];
}

interface AuthAnswer {
  readonly token?: string;
  readonly user?: { id: string; email: string; name: string };
}

const linkKey = (sessionToken: string): string =>
  `signed-in-by-link:${createHash('sha256').update(sessionToken).digest('hex')}`;

/** Signing in: bounds on attempts, Better Auth, audit. Better Auth's own answers never leave: they hold the session token and its own error shape. */
@Injectable()
export class SignInService {
  constructor(
    @Inject(PEOPLE) private readonly people: People,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(IdentityAudit) private readonly audit: IdentityAudit,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(REDIS) private readonly redis: Redis,
  ) {}

  /** Errors: `unauthenticated` (the same for a wrong address and a wrong password), `rate_limited`. */
  async withPassword(request: FastifyRequest, origin: string, email: string, password: string): Promise<SignedIn> {
    if (passwordsBusy()) throw busy();
    await this.attempts.take('address', request.ip);
    await this.attempts.take('account', email).catch((error: unknown) => {
      this.#refused('password', email, 'rate_limited');
      throw error;
    });
    const { status, answer, setCookies } = await this.#ask(request, origin, 'POST', '/sign-in/email', {
      email,
      password,
    });
    if (status !== 200 || !answer.user) {
      this.#refused('password', email, 'wrong');
      throw new AppError('unauthenticated', {
        zh: '邮箱或密码不对。忘记密码时，请让管理员给你一个一次性登录链接。',
        en: 'The e-mail address or the password is wrong. If you forgot it, ask an administrator for a one-time sign-in link.',
      });
    }
    await Promise.all([this.attempts.giveBack('address', request.ip), this.attempts.giveBack('account', email)]);
    return this.#signedIn('password', answer.user, setCookies);
  }

  /** Errors: `link_invalid` for a token that is unknown, used or expired; `rate_limited`. */
  async withLink(request: FastifyRequest, origin: string, token: string): Promise<SignedIn> {
    await this.attempts.take('link', request.ip);
    const path = `/magic-link/verify?${new URLSearchParams({ token })}`;
    const { status, answer, setCookies } = await this.#ask(request, origin, 'GET', path);
    if (status !== 200 || !answer.user || !answer.token) {
      this.metrics.signIns.inc({ outcome: 'refused' });
      throw new AppError('link_invalid', {
        zh: '这个登录链接已用过、已过期或不完整。请让管理员再给一个，或用密码登录。',
        en: 'This sign-in link was used, has expired or is incomplete. Ask an administrator for a new one, or sign in with your password.',
      });
    }
    await this.redis.set(linkKey(answer.token), '1', 'EX', LINK_TRUST_SECONDS);
    return this.#signedIn('link', answer.user, setCookies);
  }

  /** Ends the session of the request's cookie; answers the cookies that remove it. */
  async signOut(request: FastifyRequest, origin: string): Promise<readonly string[]> {
    const { setCookies } = await this.#ask(request, origin, 'POST', '/sign-out', {});
    return setCookies;
  }

  /** Whether this session began with a one-time link a short while ago. */
  async cameByLink(sessionToken: string): Promise<boolean> {
    return (await this.redis.exists(linkKey(sessionToken))) === 1;
  }

  async #ask(request: FastifyRequest, origin: string, method: 'GET' | 'POST', path: string, body?: object) {
    const headers = new Headers({ origin, [CLIENT_IP_HEADER]: request.ip });
    if (request.headers.cookie) headers.set('cookie', request.headers.cookie);
    const agent = request.headers['user-agent'];
    if (agent) headers.set('user-agent', agent.slice(0, 200));
    if (body) headers.set('content-type', 'application/json');
    const response = await this.people.auth.handler(
      new Request(`${origin}/api/auth${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }),
    );
    if (response.status >= 500)
      throw new Error(`Better Auth answered ${response.status} to ${method} ${path.split('?')[0]}`);
    const text = await response.text();
    const answer = response.ok && text ? (JSON.parse(text) as AuthAnswer) : {};
    return { status: response.status, answer, setCookies: response.headers.getSetCookie() };
  }

  async #signedIn(how: string, { id, email, name }: User, setCookies: readonly string[]): Promise<SignedIn> {
    this.metrics.signIns.inc({ outcome: 'ok' });
    await this.audit.record({ id }, { action: 'sign_in', outcome: 'ok', detail: { how } });
    return { user: { id, email, name }, setCookies };
  }

  /** Not waited for: the time of the answer must not tell whether the address is known. */
  #refused(how: string, email: string, reason: 'wrong' | 'rate_limited'): void {
    this.metrics.signIns.inc({ outcome: reason === 'wrong' ? 'refused' : 'rate_limited' });
    this.audit
      .recordRefusal(email, { action: 'sign_in', detail: { how, reason } })
      .catch((error: unknown) => log.warn('an audit row was not written', { error }));
  }
}

const busy = () =>
  new AppError(
    'rate_limited',
    {
      zh: '同时登录的人太多，请几秒后再试。',
      en: 'Too many people are signing in at once. Try again in a few seconds.',
    },
    { retryAfterSeconds: 5 },
  );
