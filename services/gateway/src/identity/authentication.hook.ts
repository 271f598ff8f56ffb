import { AppError } from '@moli/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Role } from '../database/schema.ts';
import type { Authenticator } from './authenticator.ts';
import { assertRole } from './roles.ts';

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

function leastRole(request: FastifyRequest): Role {
  return request.routeOptions.config.minRole ?? (READING.has(request.method) ? 'viewer' : 'member');
}

/** Whether another site's page could make a browser send this with our cookie and gain by it: changes, and sockets. */
function needsOrigin(request: FastifyRequest): boolean {
  return !READING.has(request.method) || request.headers.upgrade !== undefined;
}

/**
 * Finds the caller of every request before its body is read: known Host, credentials, own origin for cookies, role. Routes opt out by their
 * `config` (see public.ts). A path that nobody serves stays a 404 for everyone.
 */
export function registerAuthentication(fastify: FastifyInstance, authenticator: Authenticator): void {
  fastify.addHook('onRequest', async (request, reply) => {
    const { config } = request.routeOptions;
    if (!config.anyHost) authenticator.hosts.assertKnown(request);
    if (request.is404) return;
    if (config.public) {
      // Sign-in by a foreign page would put a person into a stranger’s account. Programs send no Origin.
      if (!config.anyHost && !READING.has(request.method)) authenticator.hosts.assertSameOrigin(request, false);
      return;
    }
    const found = await authenticator.find(request, reply);
    if (!found) {
      if (config.optionalCaller) return;
      throw new AppError('unauthenticated', {
        zh: '需要登录，或在 Authorization 头中给出 API 密钥（Bearer moli_…）。',
        en: 'Sign in, or send an API key in the Authorization header (Bearer moli_…).',
      });
    }
    if (found.session && needsOrigin(request)) authenticator.hosts.assertSameOrigin(request, true);
    assertRole(found.caller.role, leastRole(request));
    request.caller = found.caller;
    request.person = found.session;
  });
}
