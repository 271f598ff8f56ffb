import type { ObjectStore } from '@moli/objects';
import { type FaultProxy, startFaultProxy } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TenantDb } from '../../database/tenant-db.ts';
import type { TestGateway } from '../../gateway.fixture.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from '../../runs/runs.fixture.ts';
import { TenantsService } from '../../tenants/tenants.service.ts';
import { OBJECTS } from '../../tokens.ts';
import { selftest } from './selftest.command.ts';

let gateway: TestGateway;
let executor: TestExecutor;
let proxy: FaultProxy;

beforeAll(async () => {
  gateway = await startRunsGateway();
  executor = await startExecutor(gateway.redis.url);
  proxy = await startFaultProxy(gateway.url);
});
afterAll(async () => {
  await proxy?.close();
  await executor?.stop();
  await gateway?.close();
});

function test({ keep = false, at = gateway.url, said = [] as string[] } = {}) {
  const executorUrl = `http://127.0.0.1:${executor.port}`;
  const say = (line: string) => said.push(line);
  return selftest(gateway.app, { gateway: at, executor: executorUrl, objects: undefined, keep, say });
}

/** What is in the tenant of the tests, and how many objects it has. */
async function left() {
  const tenant = await gateway.app.get(TenantsService).find('selftest');
  const id = tenant?.id ?? '';
  const counts = await gateway.app.get(TenantDb).as(id, async (tx) => {
    const count = async (table: 'sessions' | 'files' | 'runs' | 'artifacts') =>
      Number((await tx.selectFrom(table).select(tx.fn.countAll<string>().as('n')).executeTakeFirstOrThrow()).n);
    return {
      sessions: await count('sessions'),
      files: await count('files'),
      runs: await count('runs'),
      artifacts: await count('artifacts'),
    };
  });
  const { items } = await gateway.app.get<ObjectStore>(OBJECTS).list(`${id}/`);
  return { id, ...counts, objects: items.length };
}

const NOTHING = { sessions: 0, files: 0, runs: 0, artifacts: 0, objects: 0 };
const ONE_TEST = { sessions: 1, files: 1, runs: 1, artifacts: 1, objects: 2 };

describe('the self-test', () => {
  it('does the main job, says how long each stage took, and leaves an empty tenant', async () => {
    const said: string[] = [];
    const { stages, run } = await test({ said });
    expect(Object.keys(stages)).toEqual(['gateway', 'sandbox', 'upload', 'run', 'chart', 'clean']);
    expect(Object.keys(run)).toContain('runMs');
    expect(said).toHaveLength(6);
    expect(said.at(-1)).toMatch(/^✓ 测试数据已清除 \/ What the test made is removed: \d+ ms$/);
    expect(await left()).toMatchObject(NOTHING);
  });

  it('leaves what it made when told to; the next one removes it and uses the same tenant', async () => {
    expect((await test({ keep: true })).stages).not.toHaveProperty('clean');
    const kept = await left();
    expect(kept).toMatchObject(ONE_TEST);
    await test({ keep: true });
    expect(await left()).toEqual(kept);
    await test();
    expect(await left()).toEqual({ id: kept.id, ...NOTHING });
  });

  it('tells of a chart that is another one, and removes what it made all the same', async () => {
    proxy.fault(({ url }) => url.includes('/v1/artifacts/'), { kind: 'alter', what: 'answer' });
    await expect(test({ at: proxy.url })).rejects.toMatchObject({
      detail: { zh: expect.stringMatching(/图表不完整/), en: expect.stringMatching(/not the one that was made/) },
    });
    expect(await left()).toMatchObject(NOTHING);
  });

  it('tells when it cannot remove what it made', async () => {
    const refusal = { kind: 'answer', status: 503, body: '{"detail":"later"}' } as const;
    proxy.fault(({ method }) => method === 'DELETE', refusal, 2);
    await expect(test({ at: proxy.url })).rejects.toMatchObject({
      detail: {
        zh: '清除测试数据失败：HTTP 503 later',
        en: 'Removing what the test made failed: HTTP 503 later',
      },
    });
    expect(await left()).toMatchObject(ONE_TEST);
    await test({ at: proxy.url });
    expect(await left()).toMatchObject(NOTHING);
  });
});
