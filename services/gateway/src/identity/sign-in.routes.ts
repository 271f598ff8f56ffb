import { AppError } from '@moli/errors';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { requestFault } from '../problem/issues.ts';
import { Authenticator } from './authenticator.ts';
import { ChangePassword, SignIn } from './identity.schema.ts';
import { Invalidations } from './invalidation.ts';
import { PasswordService } from './password.service.ts';
import { SessionLookup } from './session-lookup.ts';
import { type SignedIn, SignInService } from './sign-in.service.ts';

const LinkQuery = z.looseObject({ token: z.string().min(1).max(200) });

function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value ?? {});
  if (!parsed.success) throw requestFault(parsed.error.issues);
  return parsed.data;
}

function answer(reply: FastifyReply, { user, setCookies }: SignedIn): FastifyReply {
  for (const cookie of setCookies) reply.header('set-cookie', cookie);
  return reply.send({ user });
}

/**
 * `/api/auth/*`: the paths by which people get in and out, and no others of Better Auth. One-time links are verified by GET, so that a page can
 * call them; a navigation from another site is refused, or a foreign link could sign a person into a stranger's account.
 */
export function registerSignIn(fastify: FastifyInstance, app: NestFastifyApplication): void {
  const signIn = app.get(SignInService);
  const { hosts } = app.get(Authenticator);
  const sessions = app.get(SessionLookup);
  const invalidations = app.get(Invalidations);
  const passwords = app.get(PasswordService);
  const config = { public: true };

  fastify.post('/api/auth/sign-in/email', { config }, async (request, reply) => {
    const { email, password } = parse(SignIn, request.body);
    return answer(reply, await signIn.withPassword(request, hosts.originOf(request), email, password));
  });

  fastify.get('/api/auth/magic-link/verify', { config, exposeHeadRoute: false }, async (request, reply) => {
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin') {
      throw new AppError('forbidden', {
        zh: '登录链接只能在 Moli 的页面中使用，请打开完整的链接。',
        en: 'A sign-in link works only inside a page of Moli. Open the whole link.',
      });
    }
    const { token } = parse(LinkQuery, request.query);
    return answer(reply, await signIn.withLink(request, hosts.originOf(request), token));
  });

  fastify.get('/api/auth/get-session', { config, exposeHeadRoute: false }, async (request, reply) => {
    const { session, setCookies } = await sessions.find(request.headers.cookie);
    for (const cookie of setCookies) reply.header('set-cookie', cookie);
    return reply.type('application/json').send(JSON.stringify(session && { user: session.user }));
  });

  fastify.post('/api/auth/sign-out', { config }, async (request, reply) => {
    hosts.assertSameOrigin(request, request.headers.cookie !== undefined);
    const { session } = await sessions.find(request.headers.cookie);
    for (const cookie of await signIn.signOut(request, hosts.originOf(request))) reply.header('set-cookie', cookie);
    if (session) await invalidations.publish({ kind: 'user', id: session.user.id });
    return reply.send({ success: true });
  });

  fastify.post('/api/auth/change-password', { config: { minRole: 'viewer' } }, async (request, reply) => {
    const { currentPassword, newPassword } = parse(ChangePassword, request.body);
    if (!request.person)
      throw new AppError('forbidden', { zh: 'API 密钥不能修改密码。', en: 'An API key cannot change a password.' });
    await passwords.set(request.person, { password: newPassword, currentPassword }, request.ip);
    return reply.send({ success: true });
  });
}
