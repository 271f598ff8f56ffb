import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startModelServer } from '@moli/scripted-model';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditStore } from '../audit/audit.store.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { startTestGateway, type TestGateway, type TestTenant } from '../gateway.fixture.ts';
import { Metrics } from '../metrics.ts';
import { ModelsService } from './models.service.ts';
import { ModelsStore } from './models.store.ts';

const KEY = 'sk-test-0123456789abcdefghij';
const ROUTE = '/v1/model-configs';

let gateway: TestGateway;
let tenant: TestTenant;
let other: TestTenant;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  gateway = await startTestGateway();
  tenant = await gateway.newTenant('Models');
  other = await gateway.newTenant('Other');
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await gateway?.close();
});

const server = async (options: Parameters<typeof startModelServer>[0]) => {
  const made = await startModelServer(options);
  stops.push(() => made.stop());
  return made;
};
const as = (key: string) => ({
  get: (path = '') => gateway.ask(`${ROUTE}${path}`, { key }),
  post: (body: unknown, path = '') => gateway.ask(`${ROUTE}${path}`, { key, body }),
  patch: (id: string, body: unknown) => gateway.ask(`${ROUTE}/${id}`, { key, body, method: 'PATCH' }),
  delete: (id: string) => gateway.ask(`${ROUTE}/${id}`, { key, method: 'DELETE' }),
});

test('settings are kept, the key never comes back, and the first model is the default', async () => {
  const admin = as(tenant.keys.admin);
  const made = await admin.post({ baseUrl: 'https://api.example.com/v1', model: 'qwen-max', apiKey: KEY });
  expect(made.status).toBe(201);
  expect(made.json).toMatchObject({
    name: 'qwen-max',
    hasKey: true,
    isDefault: true,
    scripted: false,
    contextTokens: 32_000,
  });
  const second = await admin.post({ name: 'Local', baseUrl: 'http://10.0.0.5:8000', model: 'm', contextTokens: 8000 });
  expect(second.json).toMatchObject({ hasKey: false, isDefault: false, contextTokens: 8000 });

  const changed = await admin.patch(second.json.id, { isDefault: true, name: 'Mine' });
  expect(changed.json).toMatchObject({ name: 'Mine', isDefault: true });
  const list = await as(tenant.keys.viewer).get();
  expect(list.json.items.map((item: { isDefault: boolean }) => item.isDefault)).toEqual([false, true]);
  expect(JSON.stringify([made.json, list.json, changed.json])).not.toContain(KEY);

  expect((await admin.delete(second.json.id)).status).toBe(204);
  expect((await admin.get()).json.items).toMatchObject([{ id: made.json.id, isDefault: true }]);
  expect((await admin.delete(second.json.id)).status).toBe(404);
});

test('two first models at once leave one default', async () => {
  const fresh = await gateway.newTenant('Race');
  const body = { baseUrl: 'http://host/v1', model: 'm' };
  await Promise.all(Array.from({ length: 6 }, () => as(fresh.keys.owner).post(body)));
  const { items } = (await as(fresh.keys.owner).get()).json;
  expect(items).toHaveLength(6);
  expect(items.filter((item: { isDefault: boolean }) => item.isDefault)).toHaveLength(1);
});

test('the database alone reveals no key', async () => {
  const db = new pg.Client({ connectionString: gateway.database.ownerUrl });
  await db.connect();
  try {
    const { rows } = await db.query(
      'select row_to_json(m)::text as row, key_sealed from model_configs m where key_sealed is not null',
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { row, key_sealed } of rows) {
      expect(row).not.toContain(KEY);
      expect(key_sealed.toString('latin1')).not.toContain(KEY.slice(0, 8));
    }
    const audit = await db.query('select row_to_json(a)::text as row from audit a');
    expect(JSON.stringify(audit.rows)).toContain('model.create');
    expect(JSON.stringify(audit.rows)).not.toContain(KEY);
  } finally {
    await db.end();
  }
});

test('only administrators set or try models, and nobody reaches those of another tenant', async () => {
  const { id } = (await as(tenant.keys.admin).get()).json.items[0];
  for (const role of ['member', 'viewer'] as const) {
    const one = as(tenant.keys[role]);
    const body = { baseUrl: 'http://host/v1', model: 'm' };
    expect((await one.post(body)).status).toBe(403);
    expect((await one.post(body, '/test')).status).toBe(403);
    expect((await one.patch(id, { name: 'x' })).status).toBe(403);
    expect((await one.delete(id)).status).toBe(403);
  }
  const foreign = as(other.keys.owner);
  expect((await foreign.get()).json.items).toEqual([]);
  const absent = await foreign.patch(`mdl_${'0'.repeat(32)}`, { name: 'x' });
  const patched = await foreign.patch(id, { name: 'x' });
  expect(patched.status).toBe(404);
  expect(patched.json.detail).toBe(absent.json.detail);
  expect((await foreign.delete(id)).status).toBe(404);
  expect((await foreign.post({ baseUrl: 'https://api.example.com/v1', model: 'm', id }, '/test')).status).toBe(404);
});

test.each([
  [{ baseUrl: 'ftp://x', model: 'm' }, /http/],
  [{ baseUrl: 'http://u:p@host/v1', model: 'm' }, /密码|password/],
  [{ baseUrl: 'http://host', model: '' }, /model/],
  [{ baseUrl: 'http://host', model: 'm', apiKey: 'a b' }, /apiKey/],
  [{ baseUrl: 'http://host', model: 'm', surprise: 1 }, /surprise/],
  [{ baseUrl: 'http://host', model: 'm', contextTokens: -1 }, /contextTokens/],
])('%j is refused by name', async (body, words) => {
  const answer = await as(tenant.keys.admin).post(body);
  expect(answer.status).toBe(400);
  expect(answer.json.detail).toMatch(words);
});

test('a stored key is never sent to another server', async () => {
  const admin = as(tenant.keys.admin);
  const elsewhere = await server({ script: [{ reply: { steps: [{ text: 'hi' }] } }] });
  const { id } = (await admin.get()).json.items[0];
  expect((await admin.patch(id, { baseUrl: elsewhere.url })).status).toBe(400);
  expect((await admin.post({ baseUrl: elsewhere.url, model: 'm', id }, '/test')).status).toBe(400);
  expect(elsewhere.requests).toHaveLength(0);
  const moved = await admin.patch(id, { baseUrl: elsewhere.url, apiKey: null });
  expect(moved.json).toMatchObject({ hasKey: false, baseUrl: elsewhere.url });
});

test('a turn gets the model of its agent, else the default, with its key', async () => {
  const model = await server({ script: [{ reply: { steps: [{ text: '你好' }] } }], apiKey: KEY });
  const fresh = await gateway.newTenant('Pick');
  const pick = (tenantId: string, agentId: string) =>
    gateway.app.get(TenantDb).read(tenantId, (tx) => gateway.app.get(ModelsService).pick(tx, agentId));
  const agents = async (key: string) => (await gateway.ask('/v1/agents', { key })).json.items[0].id as string;
  const agentId = await agents(fresh.keys.admin);
  await expect(pick(fresh.id, agentId)).rejects.toMatchObject({ code: 'no_model' });
  const made = await as(fresh.keys.admin).post({
    name: 'Named',
    baseUrl: model.url,
    model: 'scripted-demo',
    apiKey: KEY,
  });
  const choice = await pick(fresh.id, agentId);
  expect(choice).toMatchObject({ configId: made.json.id, name: 'Named', model: 'scripted-demo' });
  expect((await choice.provider.chat([{ role: 'user', content: 'hi' }], [])).text).toBe('你好');
  const second = await as(fresh.keys.admin).post({ name: 'Second', baseUrl: model.url, model: 'scripted-demo' });
  const agent = { key: fresh.keys.admin, method: 'PATCH' };
  await gateway.ask(`/v1/agents/${agentId}`, {
    ...agent,
    body: { routing: { mode: 'fixed', modelConfigId: second.json.id } },
  });
  expect(await pick(fresh.id, agentId)).toMatchObject({ configId: second.json.id });
  // A model that is gone: the default again.
  await gateway.ask(`${ROUTE}/${second.json.id}`, { key: fresh.keys.admin, method: 'DELETE' });
  expect(await pick(fresh.id, agentId)).toMatchObject({ configId: made.json.id });
  await expect(pick(other.id, agentId)).rejects.toMatchObject({ code: 'no_model' });
  const scrape = await gateway.ask('/metrics');
  expect(scrape.text).toMatch(/moli_model_tokens_total\{kind="prompt"\} \d+/);
  expect(scrape.text).toMatch(/moli_model_requests_total\{outcome="ok"\} [1-9]/);
});

describe('the connection test tells the truth', () => {
  const ask = async (body: object, language = 'zh') =>
    (await gateway.ask(`${ROUTE}/test`, { key: tenant.keys.admin, body, headers: { 'accept-language': language } }))
      .json;
  const CALL = [{ reply: { steps: [{ call: { name: 'report_ready', arguments: { word: 'ready' } } }] } }];

  test('works with tools', async () => {
    const model = await server({ script: CALL });
    expect(await ask({ baseUrl: model.url, model: 'any' })).toMatchObject({
      ok: true,
      tools: true,
      latencyMs: expect.any(Number),
      models: ['scripted-demo'],
    });
    expect(model.requests[0]!.body.tools).toHaveLength(1);
  });

  test('works, but calls no tool', async () => {
    const model = await server({ script: [{ reply: { steps: [{ text: 'ready' }] } }] });
    const answer = await ask({ baseUrl: model.url, model: 'any' }, 'en');
    expect(answer).toMatchObject({
      ok: true,
      tools: false,
      reply: 'ready',
      problem: { title: 'It can chat, but called no tool', detail: expect.stringContaining('did not call the tool') },
    });
  });

  test('refuses tools', async () => {
    const model = await server({
      script: [{ reply: { status: 400, body: { error: { message: 'x does not support tools' } } } }],
    });
    expect(await ask({ baseUrl: model.url, model: 'any' })).toMatchObject({
      ok: false,
      problem: { code: 'model_refused', detail: expect.stringContaining('工具调用') },
    });
  });

  test('wrong key', async () => {
    const model = await server({ script: CALL, apiKey: 'right-key' });
    const answer = await ask({ baseUrl: model.url, model: 'any', apiKey: 'wrong-key-12345' });
    expect(answer).toMatchObject({
      ok: false,
      problem: { code: 'model_auth', detail: expect.stringContaining('密钥') },
    });
    expect(JSON.stringify(answer)).not.toContain('wrong-key-12345');
  });

  test('unknown model, with the names that there are', async () => {
    const model = await server({ script: CALL, models: ['alpha', 'beta'] });
    expect(await ask({ baseUrl: model.url, model: 'gamma' })).toMatchObject({
      ok: false,
      models: ['alpha', 'beta'],
      problem: { code: 'model_not_found', detail: expect.stringContaining('alpha, beta') },
    });
  });

  test('wrong path and wrong port', async () => {
    const model = await server({ script: CALL });
    const page = await ask({ baseUrl: `${model.url.replace('/v1', '')}/wrong/v1`, model: 'any' }, 'en');
    expect(page).toMatchObject({
      ok: false,
      problem: { code: 'model_bad_answer', detail: expect.stringContaining('web page') },
    });
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    expect(await ask({ baseUrl: `http://127.0.0.1:${port}/v1`, model: 'any' })).toMatchObject({
      ok: false,
      problem: { code: 'model_unreachable' },
    });
    expect(await ask({ baseUrl: 'nonsense', model: 'any' })).toMatchObject({
      ok: false,
      problem: { code: 'bad_request' },
    });
  });
});

test('MOLI_MODEL_* become the first model of a tenant', async () => {
  const configured = await startTestGateway({
    MOLI_MODEL_BASE_URL: 'http://127.0.0.1:1/v1',
    MOLI_MODEL_NAME: 'scripted-demo',
    MOLI_MODEL_API_KEY: KEY,
    MOLI_MODEL_SCRIPTED: 'true',
  });
  try {
    const made = await configured.newTenant();
    const { json } = await configured.ask(ROUTE, { key: made.keys.viewer });
    expect(json.items).toMatchObject([
      { model: 'scripted-demo', hasKey: true, isDefault: true, scripted: true, contextTokens: 32_000 },
    ]);
  } finally {
    await configured.close();
  }
});

test('the model of the environment is added at a start, its key follows, and choices made in the settings stay', async () => {
  const { app, config } = gateway;
  const { id, keys } = await gateway.newTenant('Environment');
  const db = app.get(TenantDb);
  const start = async (modelName: string, modelApiKey: string) => {
    const own = { ...config, modelBaseUrl: 'http://127.0.0.1:9/v1', modelName, modelApiKey };
    const service = new ModelsService(own, db, app.get(ModelsStore), app.get(AuditStore), app.get(Metrics));
    await db.as(id, (tx) => service.applyConfigured(tx, id));
    await service.onModuleDestroy();
  };
  const sealed = () => db.as(id, async (tx) => (await app.get(ModelsStore).list(tx)).map((row) => row.key_sealed));
  await start('first', KEY);
  const [before] = await sealed();
  await start('first', KEY);
  expect(await sealed()).toEqual([before]);
  await start('first', `${KEY}-new`);
  expect((await sealed())[0]).not.toEqual(before);
  await start('second', KEY);
  const listed = (await as(keys.admin).get()).json.items as { id: string; model: string; isDefault: boolean }[];
  expect(listed.map(({ model, isDefault }) => [model, isDefault])).toEqual([
    ['first', false],
    ['second', true],
  ]);
  await as(keys.admin).patch(listed[0]?.id ?? '', { isDefault: true });
  await start('second', KEY);
  expect((await as(keys.admin).get()).json.items.map((item: { isDefault: boolean }) => item.isDefault)).toEqual([
    true,
    false,
  ]);
});
