import { getMigrations } from 'better-auth/db/migration';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../app.ts';
import { cookieOf, startTestGateway, type TestGateway, type TestTenant } from '../gateway.fixture.ts';
import { PEOPLE } from './people.token.ts';
import type { People } from './people.ts';
import { UsersStore } from './users.store.ts';

let gateway: TestGateway;
let tenant: TestTenant;

beforeAll(async () => {
  gateway = await startTestGateway();
  tenant = await gateway.newTenant();
});
afterAll(() => gateway.close());

async function auditOf(tenantId: string, action: string) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: gateway.database.ownerUrl });
  await client.connect();
  const { rows } = await client.query(
    'select actor, outcome, target from audit where tenant_id = $1 and action = $2 order by id',
    [tenantId, action],
  );
  await client.end();
  return rows;
}

async function signIn(email: string, password: string, headers: Record<string, string> = {}) {
  return gateway.ask('/api/auth/sign-in/email', { body: { email, password }, headers });
}

/** Attempts are counted by address and account: each test that fails on purpose starts anew. */
async function forgetAttempts() {
  const { Redis } = await import('ioredis');
  const redis = new Redis(gateway.redis.url);
  const keys = await redis.keys('attempts:*');
  if (keys.length > 0) await redis.del(keys);
  await redis.quit();
}

describe('API keys', () => {
  it('open the tenant they belong to, with their role', async () => {
    const me = await gateway.ask('/v1/me', { key: tenant.keys.member });
    expect(me.status).toBe(200);
    expect(me.json).toMatchObject({ user: null, tenant: { id: tenant.id, name: 'Second' }, role: 'member' });
  });

  it.each(['', 'moli_', 'moli_short', `moli_${'A'.repeat(43)}`, 'x'.repeat(5000)])(
    'a wrong key %# is a 401 problem',
    async (key) => {
      const answer = await gateway.ask('/v1/me', { headers: { authorization: `Bearer ${key}` } });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('content-type')).toContain('application/problem+json');
      expect(answer.json).toMatchObject({ code: 'unauthenticated', status: 401 });
      expect(answer.json.traceId).toMatch(/^[0-9a-f]{32}$/);
    },
  );

  it('a wrong key is not saved by a good cookie', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const cookie = cookieOf(await signIn(person.email, person.password));
    expect((await gateway.ask('/v1/me', { cookie })).status).toBe(200);
    expect((await gateway.ask('/v1/me', { cookie, headers: { authorization: 'Bearer moli_wrong' } })).status).toBe(401);
  });

  it('are made, shown once, listed without the key, and end when revoked', async () => {
    const made = await gateway.ask('/v1/keys', { key: tenant.keys.admin, body: { name: 'ci' } });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ name: 'ci', role: 'member' });
    expect((await gateway.ask('/v1/me', { key: made.json.key })).json.role).toBe('member');
    const list = await gateway.ask('/v1/keys', { key: tenant.keys.admin });
    expect(list.text).not.toContain(made.json.key);
    expect(list.json.items.map((one: { id: string }) => one.id)).toContain(made.json.id);
    expect((await gateway.ask(`/v1/keys/${made.json.id}`, { method: 'DELETE', key: tenant.keys.admin })).status).toBe(
      204,
    );
    expect((await gateway.ask('/v1/me', { key: made.json.key })).status).toBe(401);
    expect(await auditOf(tenant.id, 'key.revoke')).toMatchObject([{ outcome: 'ok', target: made.json.id }]);
    await expect
      .poll(() => auditOf(tenant.id, 'key.use'))
      .toMatchObject([{ outcome: 'refused', target: made.json.id }]);
  });

  it('never do more than their maker', async () => {
    expect((await gateway.ask('/v1/keys', { key: tenant.keys.viewer, body: { name: 'x' } })).status).toBe(403);
    const up = await gateway.ask('/v1/keys', { key: tenant.keys.member, body: { name: 'x', role: 'admin' } });
    expect(up.json).toMatchObject({ code: 'forbidden', requiredRole: 'admin', role: 'member' });
  });

  it('lose their person’s access with the membership', async () => {
    const person = await gateway.newPerson(tenant.id, 'admin');
    const cookie = cookieOf(await signIn(person.email, person.password));
    const made = await gateway.ask('/v1/keys', { cookie, body: { name: 'own', role: 'admin' } });
    expect((await gateway.ask('/v1/me', { key: made.json.key })).json.role).toBe('admin');
    await gateway.ask(`/v1/members/${person.id}`, {
      method: 'PATCH',
      key: tenant.keys.owner,
      body: { role: 'viewer' },
    });
    expect((await gateway.ask('/v1/me', { key: made.json.key })).json.role).toBe('viewer');
    expect((await gateway.ask('/v1/me', { cookie })).json.role).toBe('viewer');
    await gateway.ask(`/v1/members/${person.id}`, { method: 'DELETE', key: tenant.keys.owner });
    expect((await gateway.ask('/v1/me', { key: made.json.key })).status).toBe(401);
    expect((await gateway.ask('/v1/me', { cookie })).json.code).toBe('forbidden');
  });

  it('of another tenant are not found', async () => {
    const other = await gateway.newTenant('Third');
    const mine = await gateway.ask('/v1/keys', { key: tenant.keys.admin, body: { name: 'mine' } });
    const foreign = await gateway.ask(`/v1/keys/${mine.json.id}`, { method: 'DELETE', key: other.keys.owner });
    const absent = await gateway.ask(`/v1/keys/key_${'0'.repeat(32)}`, { method: 'DELETE', key: other.keys.owner });
    expect([foreign.status, foreign.json.detail]).toEqual([absent.status, absent.json.detail]);
    expect(foreign.status).toBe(404);
  });
});

describe('people', () => {
  it('sign in with a password; the session is in the cookie alone', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const answer = await signIn(person.email, person.password);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ user: { id: person.id, email: person.email, name: 'Test Person' } });
    const [cookie] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/^moli\.session_token=.+HttpOnly.*SameSite=Lax/i);
    const me = await gateway.ask('/v1/me', { cookie: cookieOf(answer) });
    expect(me.json).toMatchObject({ user: { email: person.email }, role: 'member', hasPassword: true });
    expect(await auditOf(tenant.id, 'sign_in')).toContainEqual({
      actor: `user:${person.id}`,
      outcome: 'ok',
      target: person.id,
    });
  });

  it('get the same answer for a wrong password and an unknown address', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const wrong = await signIn(person.email, 'not the password');
    const unknown = await signIn('nobody@example.org', 'not the password');
    expect(wrong.status).toBe(401);
    expect({ ...wrong.json, traceId: '' }).toEqual({ ...unknown.json, traceId: '' });
    await expect
      .poll(() => auditOf(tenant.id, 'sign_in'))
      .toContainEqual({
        actor: `user:${person.id}`,
        outcome: 'refused',
        target: person.id,
      });
  });

  it('wait after five wrong passwords for one account; the answer says how long', async () => {
    await forgetAttempts();
    const person = await gateway.newPerson(tenant.id, 'member');
    const statuses = [];
    for (let attempt = 0; attempt < 6; attempt += 1) statuses.push((await signIn(person.email, 'wrong')).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    const limited = await signIn(person.email, person.password);
    expect(limited.status).toBe(429);
    expect(limited.json.code).toBe('rate_limited');
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    await forgetAttempts();
    expect((await signIn(person.email, person.password)).status).toBe(200);
  });

  it('wait after twenty wrong attempts from one address, whatever the accounts; a client cannot pick its address', async () => {
    await forgetAttempts();
    const statuses = new Set<number>();
    for (let attempt = 0; attempt < 21; attempt += 1) {
      const headers = { 'x-forwarded-for': `10.0.0.${attempt}`, 'x-moli-client-ip': `10.0.1.${attempt}` };
      statuses.add((await signIn(`someone-${attempt}@example.org`, 'wrong', headers)).status);
    }
    expect([...statuses]).toEqual([401, 429]);
    await forgetAttempts();
  });

  it('sign out, and the cookie opens nothing at once', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const cookie = cookieOf(await signIn(person.email, person.password));
    expect((await gateway.ask('/v1/me', { cookie })).status).toBe(200);
    expect((await gateway.ask('/api/auth/sign-out', { method: 'POST', cookie })).status).toBe(200);
    expect((await gateway.ask('/v1/me', { cookie })).status).toBe(401);
    expect((await gateway.ask('/api/auth/get-session', { cookie })).json).toBeNull();
  });

  it('a tampered cookie opens nothing', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const cookie = cookieOf(await signIn(person.email, person.password));
    const [name, value = ''] = cookie.split('=');
    for (const bad of [`${name}=${value.slice(0, -4)}AAAA`, `${name}=${value.split('.')[0]}`, `${name}=`]) {
      expect((await gateway.ask('/v1/me', { cookie: bad })).status).toBe(401);
    }
  });

  it('from another site are refused for changes, even with a good cookie', async () => {
    const person = await gateway.newPerson(tenant.id, 'admin');
    const cookie = cookieOf(await signIn(person.email, person.password));
    const change = { method: 'POST', body: { name: 'x' } };
    const foreign = await gateway.ask('/v1/keys', { ...change, cookie, headers: { origin: 'https://evil.example' } });
    expect([foreign.status, foreign.json.code]).toEqual([403, 'forbidden']);
    const none = await fetch(`${gateway.url}/v1/keys`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: '{"name":"x"}',
    });
    expect(none.status).toBe(403);
    expect((await gateway.ask('/v1/keys', { ...change, cookie })).status).toBe(201);
    const signInElsewhere = await signIn(person.email, person.password, { origin: 'https://evil.example' });
    expect(signInElsewhere.status).toBe(403);
  });

  it('choose the tenant by header; a foreign one is not found', async () => {
    const person = await gateway.newPerson(tenant.id, 'viewer');
    const cookie = cookieOf(await signIn(person.email, person.password));
    const other = await gateway.newTenant('Fourth');
    const chosen = await gateway.ask('/v1/me', { cookie, headers: { 'moli-tenant': tenant.id } });
    expect(chosen.json.tenant.id).toBe(tenant.id);
    const foreign = await gateway.ask('/v1/me', { cookie, headers: { 'moli-tenant': other.id } });
    const absent = await gateway.ask('/v1/me', { cookie, headers: { 'moli-tenant': `ten_${'0'.repeat(32)}` } });
    expect([foreign.status, foreign.json.detail]).toEqual([404, absent.json.detail]);
  });
});

describe('one-time links', () => {
  const tokenOf = (link: string | null) => new URL(link ?? '').hash.replace('#sign-in=', '');

  it('sign in once, let a password be set, and open nothing afterwards', async () => {
    await forgetAttempts();
    const token = tokenOf(gateway.first.signInLink);
    const first = await gateway.ask(`/api/auth/magic-link/verify?token=${token}`);
    expect(first.status).toBe(200);
    expect(first.text).not.toContain('token');
    const cookie = cookieOf(first);
    expect((await gateway.ask('/v1/me', { cookie })).json).toMatchObject({ role: 'owner', hasPassword: false });
    const again = await gateway.ask(`/api/auth/magic-link/verify?token=${token}&callbackURL=https://evil.example`);
    expect([again.status, again.json.code, again.headers.get('location')]).toEqual([403, 'link_invalid', null]);
    const set = await gateway.ask('/v1/me/password', { cookie, body: { password: 'a new password' } });
    expect(set.status).toBe(204);
    expect((await signIn('admin@moli.local', 'a new password')).status).toBe(200);
  });

  it('a later password change needs the current one', async () => {
    await forgetAttempts();
    const cookie = cookieOf(await signIn('admin@moli.local', 'a new password'));
    const without = await gateway.ask('/v1/me/password', { cookie, body: { password: 'another password' } });
    expect(without.json.code).toBe('forbidden');
    const wrong = await gateway.ask('/api/auth/change-password', {
      cookie,
      body: { currentPassword: 'no', newPassword: 'another password' },
    });
    expect(wrong.json.code).toBe('forbidden');
    const other = cookieOf(await signIn('admin@moli.local', 'a new password'));
    const right = await gateway.ask('/v1/me/password', {
      cookie,
      body: { password: 'another password', currentPassword: 'a new password' },
    });
    expect(right.status).toBe(204);
    expect((await gateway.ask('/v1/me', { cookie })).status).toBe(200);
    expect((await gateway.ask('/v1/me', { cookie: other })).status).toBe(401);
  });

  it('a link from another site does not sign in', async () => {
    const answer = await gateway.ask('/api/auth/magic-link/verify?token=abc', {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(answer.json.code).toBe('forbidden');
  });
});

describe('the rest of Better Auth', () => {
  it.each([
    ['POST', '/api/auth/sign-up/email'],
    ['POST', '/api/auth/sign-in/magic-link'],
    ['POST', '/api/auth/update-user'],
    ['POST', '/api/auth/delete-user'],
    ['GET', '/api/auth/list-sessions'],
    ['POST', '/api/auth/request-password-reset'],
    ['GET', '/api/auth/ok'],
    ['GET', '/api/auth/error'],
  ])('%s %s is not there', async (method, path) => {
    const answer = await gateway.ask(path, { method, ...(method === 'POST' ? { body: {} } : {}) });
    expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
  });
});

describe('several gateways', () => {
  it('a revoked key opens nothing on the others either, long before their caches would forget it', async () => {
    const { app } = await createApp(gateway.config);
    await app.listen({ port: 0, host: '127.0.0.1' });
    try {
      const other = await app.getUrl();
      const made = await gateway.ask('/v1/keys', { key: tenant.keys.admin, body: { name: 'shared' } });
      const ask = async () =>
        (await fetch(`${other}/v1/me`, { headers: { authorization: `Bearer ${made.json.key}` } })).status;
      expect(await ask()).toBe(200);
      await gateway.ask(`/v1/keys/${made.json.id}`, { method: 'DELETE', key: tenant.keys.admin });
      // The cache keeps an answer for 5 s: only the message can make this true within 3.
      await expect.poll(ask, { timeout: 3_000, interval: 20 }).toBe(401);
    } finally {
      await app.close();
    }
  });
});

describe('the tables of Better Auth', () => {
  it('are those that its version expects', async () => {
    const { auth } = gateway.app.get<People>(PEOPLE);
    const { toBeCreated, toBeAdded } = await getMigrations(auth.options);
    expect([toBeCreated, toBeAdded]).toEqual([[], []]);
  });

  it('lose what has expired', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const cookie = cookieOf(await signIn(person.email, person.password));
    expect((await gateway.ask('/v1/me', { cookie })).status).toBe(200);
    const users = gateway.app.get(UsersStore);
    await users.deleteExpired(new Date());
    expect((await gateway.ask('/api/auth/get-session', { cookie })).json).not.toBeNull();
    const inAYear = new Date(Date.now() + 365 * 86_400_000);
    expect(await users.deleteExpired(inAYear)).toBeGreaterThan(0);
    expect(await users.deleteExpired(inAYear)).toBe(0);
  });
});
