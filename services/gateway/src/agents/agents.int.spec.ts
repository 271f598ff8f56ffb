import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway, type TestTenant } from '../gateway.fixture.ts';

let gateway: TestGateway;
let tenant: TestTenant;
beforeAll(async () => {
  gateway = await startTestGateway();
  tenant = await gateway.newTenant('Agents');
});
afterAll(() => gateway?.close());

const ask = (path: string, options: { body?: unknown; method?: string; key?: string } = {}) =>
  gateway.ask(`/v1/agents${path}`, { key: tenant.keys.member, ...options });

test('every tenant starts with an agent that runs code for data', async () => {
  const { items } = (await ask('')).json;
  expect(items).toHaveLength(1);
  expect(items[0]).toMatchObject({
    name: 'Moli',
    tools: ['run_python', 'file_list', 'file_read', 'calculate'],
    routing: { mode: 'fixed', modelConfigId: null },
    context: { maxTokens: null },
  });
  expect(items[0].systemPrompt).toContain('run_python');
});

test('an agent is made, changed, exported and made again from its export', async () => {
  const body = {
    name: '审阅',
    avatar: '🌸',
    systemPrompt: '你是 {{agent}}',
    tools: ['execute_code', 'run_python', 'calculate'],
    context: { maxTokens: 8000 },
  };
  const made = await ask('', { body });
  expect(made.status).toBe(201);
  expect(made.json).toMatchObject({
    name: '审阅',
    avatar: '🌸',
    tools: ['run_python', 'calculate'],
    context: { maxTokens: 8000 },
  });
  const changed = await ask(`/${made.json.id}`, { method: 'PATCH', body: { name: '复核', avatar: null, tools: [] } });
  expect(changed.json).toMatchObject({ name: '复核', tools: [] });
  expect(changed.json.avatar).toBeUndefined();
  const { id: _, createdAt: __, ...exported } = (await ask(`/${made.json.id}`)).json;
  const again = await ask('', { body: exported });
  expect(again.json).toMatchObject(exported);
  for (const id of [made.json.id, again.json.id]) expect((await ask(`/${id}`, { method: 'DELETE' })).status).toBe(204);
  expect((await ask(`/${made.json.id}`)).status).toBe(404);
});

test('the last agent and one that sessions use stay', async () => {
  const { items } = (await ask('')).json;
  const last = await ask(`/${items[0].id}`, { method: 'DELETE' });
  expect(last).toMatchObject({ status: 409, json: { code: 'conflict' } });
  const made = (await ask('', { body: { name: 'Used' } })).json;
  const session = await gateway.ask('/v1/sessions', { key: tenant.keys.member, body: { agentId: made.id } });
  expect(session.status).toBe(201);
  const used = await ask(`/${made.id}`, { method: 'DELETE' });
  expect(used).toMatchObject({ status: 409, json: { code: 'conflict', sessions: 1 } });
});

test.each([
  [{ name: '' }, /name/],
  [{ name: 'x', tools: ['rm_rf'] }, /rm_rf/],
  [{ name: 'x', routing: { mode: 'fixed', modelConfigId: `mdl_${'0'.repeat(32)}` } }, /modelConfigId/],
  [{ name: 'x', routing: { mode: 'best', modelConfigId: null } }, /routing\.mode/],
  [{ name: 'x', context: { maxTokens: 1 } }, /context\.maxTokens/],
  [{ name: 'x', extra: 1 }, /extra/],
])('%j is refused by name', async (body, words) => {
  const answer = await ask('', { body });
  expect(answer.status).toBe(400);
  expect(answer.json.detail).toMatch(words);
});

test('another tenant sees none of it, a viewer changes nothing', async () => {
  const other = await gateway.newTenant('Other');
  const { items } = (await ask('')).json;
  const path = `/${items[0].id}`;
  for (const options of [{}, { method: 'PATCH', body: { name: 'x' } }, { method: 'DELETE' }]) {
    expect((await ask(path, { ...options, key: other.keys.owner })).status).toBe(404);
  }
  expect((await ask('', { body: { name: 'x' }, key: tenant.keys.viewer })).status).toBe(403);
  expect((await ask(path, { method: 'PATCH', body: { name: 'x' }, key: tenant.keys.viewer })).status).toBe(403);
});
