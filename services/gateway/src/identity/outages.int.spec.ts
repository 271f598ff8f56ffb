import { afterAll, beforeAll, expect, it } from 'vitest';
import { CutLines } from '../cut-line.fixture.ts';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const lines = new CutLines();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({}, (url) => lines.through(url));
});
afterAll(() => gateway.close());

const attempts = async () => ({
  members: await gateway.ask('/v1/members', { key: gateway.first.key ?? '' }),
  signIn: await gateway.ask('/api/auth/sign-in/email', { body: { email: 'admin@moli.local', password: 'whatever' } }),
  invitation: await gateway.ask('/v1/invitations/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
});

async function statuses() {
  const { members, signIn, invitation } = await attempts();
  return [members.status, signIn.status, invitation.status];
}

const WORKING = [200, 401, 403];

it('while Postgres is away everything says so, and works again afterwards without a restart', async () => {
  expect(await statuses()).toEqual(WORKING);
  await lines.cut(gateway.database.appUrl);
  for (const answer of Object.values(await attempts())) {
    expect(answer.json).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.text).not.toMatch(/ECONN|127\.0\.0\.1|moli_app/);
  }
  expect((await gateway.ask('/readyz')).json).toMatchObject({
    status: 'unavailable',
    dependencies: { postgres: { ok: false }, redis: { ok: true } },
  });
  expect((await gateway.ask('/livez')).status).toBe(200);
  await lines.mend(gateway.database.appUrl);
  expect(await statuses()).toEqual(WORKING);
  expect((await gateway.ask('/readyz')).status).toBe(200);
});

it('while Redis is away people cannot sign in but keys work, and it recovers by itself', async () => {
  await lines.cut(gateway.redis.url);
  const { members, signIn, invitation } = await attempts();
  expect(members.status).toBe(200);
  for (const answer of [signIn, invitation]) expect(answer.json).toMatchObject({ status: 503, code: 'unavailable' });
  expect((await gateway.ask('/readyz')).json).toMatchObject({
    status: 'unavailable',
    dependencies: { redis: { ok: false } },
  });
  await lines.mend(gateway.redis.url);
  await expect.poll(statuses, { timeout: 10_000 }).toEqual(WORKING);
  expect((await gateway.ask('/readyz')).status).toBe(200);
});
