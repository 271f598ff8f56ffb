import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelServer } from '@moli/scripted-model';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import { collect, newSession, ofType, playModel, runsProgram, send } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';
import { type Attempt, CASES, type Ids } from './tenancy.cases.ts';

const stack = Stack.shared();
let model: ModelServer;
let owner: { id: string; api: ApiClient };
let stranger: { id: string; api: ApiClient };
let strangerKey: string;
let theirs: Ids;
let mine: { session: string; agent: string };

beforeAll(async () => {
  model = await playModel(runsProgram('import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig("line.png")\n'));
  owner = await stack.otherTenant('Owner of things');
  const other = await stack.otherTenant('Stranger');
  stranger = other;
  strangerKey = other.key;
  theirs = await fill(owner.api);
  mine = { session: await newSession(stranger.api), agent: await defaultAgent(stranger.api) };
});
afterAll(() => model.stop());

/** One of everything that has an id. */
async function fill(api: ApiClient): Promise<Ids> {
  const session = await newSession(api);
  const file = await api.upload(Buffer.from('a,b\n1,2\n'), 'things.csv', session);
  const modelConfig = await api.call<{ id: string }>('POST', '/v1/model-configs', {
    baseUrl: `http://127.0.0.1:${stack.place.modelPort}/v1`,
    model: 'scripted-test',
    apiKey: 'test-key',
  });
  await send(api, session, 'Draw a line.', { fileIds: [file] });
  const events = await collect(api, session);
  const result = ofType(events, 'tool.result')[0]?.data as unknown as { runId: string; artifacts: { id: string }[] };
  const message = ofType(events, 'message.created')[0]?.data.messageId as string;
  const upload = await api.request('/api/upload', {
    method: 'POST',
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': '4',
      'upload-metadata': `filename ${Buffer.from('half.csv').toString('base64')}`,
    },
  });
  const id = async (path: string, body: unknown) => (await api.call<{ id: string }>('POST', path, body)).id;
  return {
    session,
    message,
    file,
    run: result.runId,
    artifact: result.artifacts[0]?.id as string,
    agent: await defaultAgent(api),
    modelConfig: modelConfig.id,
    key: await id('/v1/keys', { name: 'spare' }),
    invitation: await id('/v1/invitations', { email: 'friend@example.org' }),
    user: await firstTenantOwner(),
    upload: upload.headers.get('location')?.split('/').at(-1) as string,
  };
}

async function defaultAgent(api: ApiClient): Promise<string> {
  const { items } = await api.call<{ items: { id: string }[] }>('GET', '/v1/agents');
  return items[0]?.id as string;
}

/** A tenant made at the command line has no member; the first tenant has its owner, who is a stranger here as well. */
async function firstTenantOwner(): Promise<string> {
  const { items } = await stack.api().call<{ items: Record<string, string>[] }>('GET', '/v1/members');
  return (items[0]?.userId ?? items[0]?.id) as string;
}

/** Ids of the same form that nobody has. */
function absent(ids: Ids): Ids {
  const other = (id: string) =>
    id.replace(/[0-9a-f]{16,}$/, (digits) => randomBytes(digits.length).toString('hex').slice(0, digits.length));
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, other(id)])) as unknown as Ids;
}

async function attempt(route: string, { path, body, headers }: Attempt): Promise<{ status: number; text: string }> {
  const raw = typeof body === 'string';
  const response = await stranger.api.request(path, {
    method: route.split(' ')[0] as string,
    headers: { ...(body === undefined || raw ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: response.status, text: await response.text() };
}

/** A tool that fails is a result: status 200, `ok` false. */
function refused({ status, text }: { status: number; text: string }): boolean {
  return (status >= 400 && status < 500) || (status === 200 && JSON.parse(text).ok === false);
}

/** What is left of an answer when the ids asked for and the trace id are taken out. */
function faceless(answer: { status: number; text: string }, ids: Ids): string {
  let text = answer.text.replace(/"traceId":"[^"]*"/, '').replace(/"durationMs":[\d.]+/, '');
  for (const id of Object.values(ids)) text = text.replaceAll(id, '<id>');
  return `${answer.status} ${text}`;
}

const withIds = Object.entries(CASES).filter(([, rule]) => typeof rule === 'function');

test('every route of the document has a case', async () => {
  const document = (await (await stranger.api.request('/openapi.json')).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const served = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(served.toSorted()).toEqual(Object.keys(CASES).toSorted());
});

test.each(withIds)('%s: a foreign id and an absent id are answered alike, and refused', async (route, rule) => {
  if (typeof rule !== 'function') throw new Error('unreachable');
  const nobody = absent(theirs);
  const foreign = rule(theirs, mine);
  const missing = rule(nobody, mine);
  for (const [at, one] of foreign.entries()) {
    const answer = await attempt(route, one);
    expect(refused(answer), answer.text).toBe(true);
    expect([401, 405, 415]).not.toContain(answer.status);
    expect(faceless(answer, theirs)).toBe(faceless(await attempt(route, missing[at] as Attempt), nobody));
  }
});

test.each(Object.entries(CASES).filter(([route, rule]) => rule === 'own' && route.startsWith('GET')))(
  '%s shows nothing of another tenant',
  async (route) => {
    const answer = await attempt(route, { path: route.split(' ')[1] as string });
    expect(answer.status).toBe(200);
    for (const id of [...Object.values(theirs), owner.id]) expect(answer.text).not.toContain(id);
  },
);

test('frames of the WebSocket: a foreign session and an absent one are refused alike', async () => {
  const { default: WebSocket } = await import('ws');
  const ask = (frame: object) =>
    new Promise<string>((resolve, reject) => {
      const socket = new WebSocket(`${stranger.api.origin.replace('http', 'ws')}/v1/ws`, {
        headers: { authorization: `Bearer ${strangerKey}` },
      });
      socket.once('error', reject);
      socket.once('open', () => socket.send(JSON.stringify(frame)));
      socket.once('message', (data) => {
        socket.close();
        resolve(String(data));
      });
    });
  const nobody = absent(theirs);
  for (const frame of [{ type: 'subscribe', after: 0 }, { type: 'send', text: 'hello' }, { type: 'stop' }]) {
    const foreign = await ask({ ...frame, sessionId: theirs.session });
    const missing = await ask({ ...frame, sessionId: nobody.session });
    expect(JSON.parse(foreign)).toMatchObject({ type: 'problem' });
    expect(faceless({ status: 0, text: foreign }, theirs)).toBe(faceless({ status: 0, text: missing }, nobody));
  }
});

test('after all of that the owner finds everything as it was', async () => {
  const { api } = owner;
  expect(await api.call('GET', `/v1/sessions/${theirs.session}`)).toMatchObject({ id: theirs.session });
  expect((await api.call<{ title: string }>('GET', `/v1/sessions/${theirs.session}`)).title).not.toBe('taken');
  expect((await api.bytes(`/v1/files/${theirs.file}/content`)).toString()).toBe('a,b\n1,2\n');
  expect((await api.call<{ name: string }>('GET', `/v1/agents/${theirs.agent}`)).name).not.toBe('taken');
  expect((await api.bytes(`/v1/artifacts/${theirs.artifact}/content`)).length).toBeGreaterThan(100);
  expect(
    (
      await api.request(`/api/upload/${theirs.upload}`, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })
    ).headers.get('upload-offset'),
  ).toBe('0');
  expect(await api.call('GET', '/v1/keys')).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ id: theirs.key })]),
  });
});

/** Tables without tenants' rows. */
const SHARED_TABLES = ['gateways', 'schema_versions'];

test('every table keeps tenants apart by itself', async () => {
  const secrets = JSON.parse(readFileSync(join(stack.place.dataDir, 'secrets.json'), 'utf8')) as {
    postgres: string;
    app: string;
  };
  const port = (await stack.status()).services.find((service) => service.name === 'postgres')?.port;
  const admin = await connect(`postgres://postgres:${secrets.postgres}@127.0.0.1:${port}/postgres`);
  const app = await connect(`postgres://moli_app:${secrets.app}@127.0.0.1:${port}/postgres`);
  try {
    const { rows: tables } = await admin.query<{ name: string; bound: boolean }>(
      `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity
         and exists (select 1 from pg_policy p where p.polrelid = c.oid) as bound
       from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace order by 1`,
    );
    expect(tables.filter((table) => !table.bound).map((table) => table.name)).toEqual(SHARED_TABLES);
    await app.query('select set_config($1, $2, false)', ['app.tenant_id', stranger.id]);
    for (const { name } of tables.filter((table) => table.bound)) {
      const column = name === 'tenants' ? 'id' : 'tenant_id';
      const { rows } = await app.query(`select count(*)::int as n from ${name} where ${column} <> $1`, [stranger.id]);
      expect([name, rows[0].n]).toEqual([name, 0]);
    }
    // The look above proves something only where there is something to be seen.
    const { rows } = await admin.query('select count(*)::int as n from files where tenant_id = $1', [owner.id]);
    expect(rows[0].n).toBe(1);
  } finally {
    await Promise.all([admin.end(), app.end()]);
  }
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
