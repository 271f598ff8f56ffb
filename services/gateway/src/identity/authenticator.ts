import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.ts';
import { localeOf } from '../problem/locale.ts';
import { CONFIG } from '../tokens.ts';
import type { Caller } from './caller.ts';
import { Hosts } from './hosts.ts';
import { KeyLookup } from './key-lookup.ts';
import { type FoundSession, SessionLookup } from './session-lookup.ts';

/** Names the tenant a person works in. Programs have one key a tenant. Links that cannot carry a header use the query parameter `tenant`. */
export const TENANT_HEADER = 'moli-tenant';

export interface FoundCaller {
  readonly caller: Caller;
  /** Set for a person; undefined for a key. */
  readonly session?: FoundSession;
}

function wantedTenant(request: FastifyRequest): string | undefined {
  const header = request.headers[TENANT_HEADER];
  const query = (request.query as Record<string, unknown> | undefined)?.tenant;
  const wanted = header ?? query;
  return typeof wanted === 'string' && wanted !== '' ? wanted : undefined;
}

const noTenant = () =>
  new AppError('not_found', {
    zh: '没有这个团队，或你不是它的成员。',
    en: 'There is no such team, or you are not a member of it.',
  });

/** Who is calling: an API key or a person's cookie, with tenant, role and language. */
@Injectable()
export class Authenticator {
  readonly hosts: Hosts;

  constructor(
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(KeyLookup) private readonly keys: KeyLookup,
    @Inject(SessionLookup) private readonly sessions: SessionLookup,
  ) {
    this.hosts = new Hosts(config);
  }

  /**
   * The caller of a request; null without credentials or with bad ones. An Authorization header decides alone: a wrong key never falls back to a
   * cookie. Errors: `not_found` for a tenant the caller does not belong to, `forbidden` for a person without any.
   */
  async find(request: FastifyRequest, reply: FastifyReply): Promise<FoundCaller | null> {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      const key = /^Bearer (\S+)$/i.exec(authorization)?.[1];
      const caller = key ? await this.byKey(key, request) : null;
      return caller && { caller };
    }
    const { session, setCookies } = await this.sessions.find(request.headers.cookie);
    if (!session) return null;
    for (const cookie of setCookies) reply.header('set-cookie', cookie);
    return { caller: this.#person(session, request), session };
  }

  /** The caller of an API key, for the first frame of a WebSocket too; null when the key opens nothing. */
  async byKey(key: string, request: FastifyRequest): Promise<Caller | null> {
    const found = await this.keys.find(key);
    if (!found) return null;
    const wanted = wantedTenant(request);
    if (wanted !== undefined && wanted !== found.tenantId) throw noTenant();
    return {
      tenantId: found.tenantId,
      userId: found.userId,
      role: found.role,
      keyId: found.id,
      actor: `key:${found.id}`,
      locale: localeOf(request.headers['accept-language']),
    };
  }

  #person({ user, memberships }: FoundSession, request: FastifyRequest): Caller {
    const wanted = wantedTenant(request);
    const membership = wanted === undefined ? memberships[0] : memberships.find(({ tenantId }) => tenantId === wanted);
    if (!membership) {
      if (wanted !== undefined) throw noTenant();
      throw new AppError('forbidden', {
        zh: '你还不是任何团队的成员，请让管理员发出邀请。',
        en: 'You are not a member of any team. Ask an administrator for an invitation.',
      });
    }
    return {
      tenantId: membership.tenantId,
      userId: user.id,
      role: membership.role,
      keyId: null,
      actor: `user:${user.id}`,
      locale: localeOf(request.headers['accept-language']),
    };
  }
}
