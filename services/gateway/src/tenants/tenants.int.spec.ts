import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cookieOf, startTestGateway, type TestGateway, type TestTenant } from '../gateway.fixture.ts';

let gateway: TestGateway;
let tenant: TestTenant;

beforeAll(async () => {
  gateway = await startTestGateway();
  tenant = await gateway.newTenant();
});
afterAll(() => gateway.close());

const tokenOf = (link: string) => new URL(link).hash.replace('#invite=', '');

const invite = (email: string, role = 'member', key = tenant.keys.admin) =>
  gateway.ask('/v1/invitations', { key, body: { email, role } });

describe('invitations', () => {
  it('are looked at, accepted once, and sign the person in', async () => {
    const made = await invite('New.Person@Example.org', 'viewer');
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ email: 'new.person@example.org', role: 'viewer' });
    const token = tokenOf(made.json.link);
    const look = await gateway.ask(`/v1/invitations/${token}`);
    expect(look.json).toEqual({ email: 'new.person@example.org', tenant: { name: 'Second' }, hasAccount: false });
    const body = { name: '新人', password: 'long enough' };
    const accepted = await gateway.ask(`/v1/invitations/${token}/accept`, { body });
    expect(accepted.status).toBe(200);
    const me = await gateway.ask('/v1/me', { cookie: cookieOf(accepted) });
    expect(me.json).toMatchObject({ user: { name: '新人' }, tenant: { id: tenant.id }, role: 'viewer' });
    const again = await gateway.ask(`/v1/invitations/${token}/accept`, { body });
    expect([again.status, again.json.code]).toEqual([403, 'link_invalid']);
  });

  it('do not hand an existing account to whoever holds the link', async () => {
    const person = await gateway.newPerson(tenant.id, 'member');
    const other = await gateway.newTenant('Other');
    const made = await invite(person.email, 'member', other.keys.owner);
    const token = tokenOf(made.json.link);
    const wrong = await gateway.ask(`/v1/invitations/${token}/accept`, {
      body: { name: 'Thief', password: 'my own password' },
    });
    expect([wrong.status, wrong.json.code]).toEqual([403, 'forbidden']);
    const right = await gateway.ask(`/v1/invitations/${token}/accept`, {
      body: { name: 'Me', password: person.password },
    });
    expect(right.status).toBe(200);
    const { json } = await gateway.ask('/v1/me', { cookie: cookieOf(right) });
    expect(json.tenants.map((one: { id: string }) => one.id)).toEqual([tenant.id, other.id]);
  });

  it('are for administrators, and never above their own role', async () => {
    expect((await invite('x@example.org', 'member', tenant.keys.member)).json.code).toBe('forbidden');
    expect((await invite('x@example.org', 'owner', tenant.keys.admin)).json.code).toBe('forbidden');
    expect((await gateway.ask('/v1/invitations', { key: tenant.keys.member })).json.code).toBe('forbidden');
  });

  it('can be withdrawn, by their own tenant alone', async () => {
    const made = await invite('gone@example.org');
    const other = await gateway.newTenant('Another');
    const path = `/v1/invitations/${made.json.id}`;
    expect((await gateway.ask(path, { method: 'DELETE', key: other.keys.owner })).status).toBe(404);
    expect((await gateway.ask(path, { method: 'DELETE', key: tenant.keys.admin })).status).toBe(204);
    expect((await gateway.ask(`/v1/invitations/${tokenOf(made.json.link)}`)).json.code).toBe('link_invalid');
  });

  it.each(['not an address', '', 'a@b', `${'a'.repeat(300)}@example.org`])(
    'the address %j is refused by name',
    async (email) => {
      const answer = await invite(email);
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
      expect(answer.json.issues[0].path).toBe('email');
    },
  );
});

describe('members', () => {
  it('one owner always stays, and only owners touch owners', async () => {
    const own = await gateway.newTenant('Owned');
    const owner = await gateway.newPerson(own.id, 'owner');
    const admin = await gateway.newPerson(own.id, 'admin');
    const change = (id: string, role: string, key: string) =>
      gateway.ask(`/v1/members/${id}`, { method: 'PATCH', key, body: { role } });
    expect((await change(owner.id, 'member', own.keys.admin)).json.code).toBe('forbidden');
    expect((await change(admin.id, 'owner', own.keys.admin)).json.code).toBe('forbidden');
    expect((await change(owner.id, 'member', own.keys.owner)).json.code).toBe('conflict');
    expect((await gateway.ask(`/v1/members/${owner.id}`, { method: 'DELETE', key: own.keys.owner })).json.code).toBe(
      'conflict',
    );
    expect((await change(admin.id, 'owner', own.keys.owner)).json).toMatchObject({ userId: admin.id, role: 'owner' });
    const both = await Promise.all([
      change(owner.id, 'member', own.keys.owner),
      change(admin.id, 'member', own.keys.owner),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('of another tenant are not found', async () => {
    const other = await gateway.newTenant('Far');
    const person = await gateway.newPerson(tenant.id, 'member');
    const answer = await gateway.ask(`/v1/members/${person.id}`, { method: 'DELETE', key: other.keys.owner });
    expect(answer.status).toBe(404);
    expect((await gateway.ask('/v1/members', { key: other.keys.owner })).json.items).toEqual([]);
  });
});
