import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ExpiringMap } from './expiring-map.ts';
import { Invalidations } from './invalidation.ts';
import { PEOPLE } from './people.token.ts';
import { type People, SESSION_COOKIES } from './people.ts';
import { type Membership, type User, UsersStore } from './users.store.ts';

const CACHE_MS = 5_000;
const CACHED_SESSIONS = 10_000;

export interface FoundSession {
  readonly user: User;
  readonly memberships: readonly Membership[];
  /** Of Better Auth; never leaves the process. */
  readonly sessionToken: string;
}

interface Answer {
  readonly session: FoundSession | null;
  /** Cookies to renew, when the session was prolonged just now. */
  readonly setCookies: readonly string[];
}

/** The value of our session cookie in a Cookie header; undefined when there is none. */
export function sessionCookie(header: string | undefined): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    if ((SESSION_COOKIES as readonly string[]).includes(name)) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/** Finds the person behind a session cookie. Answers are kept for 5 s; sign-out and changes of rights drop them at once, everywhere. */
@Injectable()
export class SessionLookup {
  readonly #cache = new ExpiringMap<FoundSession | null>(CACHE_MS, CACHED_SESSIONS);

  constructor(
    @Inject(PEOPLE) private readonly people: People,
    @Inject(UsersStore) private readonly users: UsersStore,
    @Inject(Invalidations) invalidations: Invalidations,
  ) {
    invalidations.listen((message) => {
      if (message.kind === 'user') this.#cache.deleteWhere((session) => session?.user.id === message.id);
    });
  }

  async find(cookieHeader: string | undefined): Promise<Answer> {
    const value = sessionCookie(cookieHeader);
    if (value === undefined) return { session: null, setCookies: [] };
    const cacheKey = createHash('sha256').update(value).digest('hex');
    const cached = this.#cache.get(cacheKey);
    if (cached !== undefined) return { session: cached, setCookies: [] };
    const { headers, response } = await this.people.auth.api.getSession({
      headers: new Headers({ cookie: cookieHeader ?? '' }),
      returnHeaders: true,
    });
    const session = response
      ? {
          user: { id: response.user.id, email: response.user.email, name: response.user.name },
          memberships: await this.users.memberships(response.user.id),
          sessionToken: response.session.token,
        }
      : null;
    this.#cache.set(cacheKey, session);
    return { session, setCookies: session ? headers.getSetCookie() : [] };
  }
}
