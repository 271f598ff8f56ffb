import type { Locale } from '@moli/errors';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type {} from 'fastify';
import type { Role } from '../database/schema.ts';

/** Who is calling. An argument of every service method that touches a tenant's data; never request scope. */
export interface Caller {
  readonly tenantId: string;
  /** The person, or null for an API key that belongs to no one. */
  readonly userId: string | null;
  readonly role: Role;
  /** Set when an API key was used. */
  readonly keyId: string | null;
  /** For audit rows: `user:ID`, `key:ID` or `system`. */
  readonly actor: string;
  /** The reader's language, from `Accept-Language`. */
  readonly locale: Locale;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authentication hook on every route that needs credentials. */
    caller?: Caller;
  }
}

/** The caller of the request, as the authentication hook found it. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<{ caller?: Caller }>();
  if (!caller) throw new Error('a route without authentication asked for its caller');
  return caller;
});
