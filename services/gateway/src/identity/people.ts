import { randomBytes } from 'node:crypto';
import { log } from '@moli/telemetry';
import { betterAuth } from 'better-auth';
import { magicLink } from 'better-auth/plugins/magic-link';
import type pg from 'pg';
import type { GatewayConfig } from '../config.ts';
import { newId } from '../ids.ts';
import { derivedKey } from '../secrets.ts';
import { hashPassword, verifyPassword } from './passwords.ts';

const DAY_SECONDS = 86_400;

/** A one-time link that an operator prints is opened by a person at leisure, once. */
export const SIGN_IN_LINK_SECONDS = DAY_SECONDS / 2;

/** Password lengths: NIST 800-63B asks for at least 8; the upper bound keeps hashing cheap. */
export const PASSWORD_LENGTH = { min: 8, max: 200 } as const;

/** Header by which the address of the client reaches Better Auth; a client's own header of this name is never passed on. */
export const CLIENT_IP_HEADER = 'x-moli-client-ip';

/** Better Auth as we use it: e-mail and password, one-time links, sessions in Postgres. Only paths that sign-in.routes.ts names are reachable. */
export function makePeople(config: Pick<GatewayConfig, 'publicUrl' | 'secret'>, pool: pg.Pool) {
  const issued = new Map<string, string>();
  const auth = betterAuth({
    appName: 'Moli',
    baseURL: config.publicUrl,
    basePath: '/api/auth',
    secret: derivedKey(config.secret, 'cookies').toString('hex'),
    database: pool,
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: PASSWORD_LENGTH.min,
      maxPasswordLength: PASSWORD_LENGTH.max,
      password: { hash: hashPassword, verify: verifyPassword },
    },
    session: { expiresIn: 30 * DAY_SECONDS, updateAge: DAY_SECONDS, cookieCache: { enabled: false } },
    plugins: [
      magicLink({
        expiresIn: SIGN_IN_LINK_SECONDS,
        storeToken: 'hashed',
        disableSignUp: true,
        generateToken: () => randomBytes(32).toString('base64url'),
        sendMagicLink: ({ email, token }) => {
          issued.set(email, token);
        },
      }),
    ],
    // Ours counts by address and by account, in Redis, for all gateways together.
    rateLimit: { enabled: false },
    // What is no answer of its own (a database that is away) reaches our filter as it was thrown.
    onAPIError: { throw: true },
    telemetry: { enabled: false },
    // The Host was checked before; the request's own origin is the one that may call.
    trustedOrigins: (request) => (request ? [new URL(request.url).origin] : []),
    advanced: {
      cookiePrefix: 'moli',
      useSecureCookies: config.publicUrl.startsWith('https:'),
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      database: { generateId: ({ model }) => (model === 'user' ? newId('usr') : randomBytes(16).toString('hex')) },
    },
    // Their messages can hold addresses of people; what went wrong reaches us as a status.
    logger: {
      level: 'warn',
      log: (level, message) =>
        log[level === 'error' ? 'warn' : 'debug']('better-auth', { detail: String(message).slice(0, 200) }),
    },
  });
  return {
    auth,
    /** A new one-time token for the person with this address. The address must be known: otherwise the token opens nothing. */
    async issueSignInToken(email: string): Promise<string> {
      await auth.api.signInMagicLink({ body: { email }, headers: new Headers() });
      const token = issued.get(email);
      issued.delete(email);
      if (!token) throw new Error('no sign-in token was issued');
      return token;
    },
  };
}

export type People = ReturnType<typeof makePeople>;

/** Names that the session cookie has; the prefix appears under https. */
export const SESSION_COOKIES = ['moli.session_token', '__Secure-moli.session_token'] as const;
