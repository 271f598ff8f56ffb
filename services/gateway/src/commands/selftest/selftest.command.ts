import { readFileSync } from 'node:fs';
import type { INestApplicationContext } from '@nestjs/common';
import { TenantDb } from '../../database/tenant-db.ts';
import type { Caller } from '../../identity/caller.ts';
import { KeysService } from '../../identity/keys.service.ts';
import { TenantsService } from '../../tenants/tenants.service.ts';
import type { Text } from './failure.ts';
import { csvToChart } from './job.ts';
import { clocksAgree, gatewayIsReady, type Objects, objectsAreClosed, sandboxIsReady } from './prerequisites.ts';

/** A tenant of its own: nobody's quota, list or audit is touched. There is no deleting of tenants: it stays, without chats, for the next test. */
const TENANT = 'selftest';

export interface SelftestOptions {
  readonly gateway: string;
  readonly executor: string;
  /** S3 server; without one (objects in a folder) that part is left out. */
  readonly objects: { readonly url: string; readonly bucket: string; readonly caFile: string | undefined } | undefined;
  /** Whether what the test made stays, to be looked at; the next test removes it. */
  readonly keep: boolean;
  /** Gets a line for each stage, in both languages: nobody knows the reader's in a Pod. */
  readonly say: (line: string) => void;
}

export interface SelftestResult {
  readonly ok: true;
  /** Milliseconds of each stage, in order. */
  readonly stages: Readonly<Record<string, number>>;
  /** What the run says of its own stages. */
  readonly run: Readonly<Record<string, number>>;
}

const STAGES: Readonly<Record<string, Text>> = {
  gateway: { zh: '网关就绪', en: 'Gateway ready' },
  objects: {
    zh: '对象存储可达且拒绝匿名访问，时钟一致',
    en: 'Object store reached, closed to strangers, clocks agree',
  },
  sandbox: { zh: '沙箱就绪', en: 'Sandbox ready' },
  upload: { zh: '上传 CSV', en: 'CSV uploaded' },
  run: { zh: '程序运行完毕', en: 'Program ran' },
  chart: { zh: '图表已下载并核对', en: 'Chart downloaded and checked' },
  clean: { zh: '测试数据已清除', en: 'What the test made is removed' },
};

/** The key of one test; keys that an earlier, killed test left are revoked first. */
async function withKey<T>(app: INestApplicationContext, work: (key: string) => Promise<T>): Promise<T> {
  const tenants = app.get(TenantsService);
  const keys = app.get(KeysService);
  const found = await tenants.find(TENANT);
  const tenant = found?.name === TENANT ? found : await tenants.create(TENANT, null);
  const caller: Caller = {
    actor: 'system',
    tenantId: tenant.id,
    userId: null,
    role: 'owner',
    keyId: null,
    locale: 'en',
  };
  for (const { id } of await keys.list(caller)) await keys.revoke(caller, id);
  const wanted = { name: TENANT, role: 'member', userId: null } as const;
  const { id, key } = await app.get(TenantDb).as(tenant.id, (tx) => keys.insert(tx, caller, wanted));
  try {
    return await work(key);
  } finally {
    await keys.revoke(caller, id);
  }
}

/** Does the main job for real and says how long each stage took. Throws SelftestFailure with what is missing and what to do. */
export async function selftest(app: INestApplicationContext, options: SelftestOptions): Promise<SelftestResult> {
  const { gateway, executor, objects, keep, say } = options;
  const stages: Record<string, number> = {};
  const stage = async <T>(name: string, work: () => Promise<T>, more: (value: T) => string = () => ''): Promise<T> => {
    const started = performance.now();
    const value = await work();
    stages[name] = Math.round(performance.now() - started);
    say(`✓ ${STAGES[name]?.zh} / ${STAGES[name]?.en}: ${stages[name]} ms${more(value)}`);
    return value;
  };
  await stage('gateway', async () => clocksAgree(await gatewayIsReady(gateway), { zh: '网关', en: 'the gateway' }));
  if (objects) await stage('objects', () => objectsAreClosed(withCa(objects)));
  await stage('sandbox', () => sandboxIsReady(executor));
  return withKey(app, async (key) => {
    const job = csvToChart(gateway, key);
    // What an earlier test kept, or left because it was killed.
    await job.clean();
    try {
      await stage('upload', job.upload);
      const run = await stage('run', job.run, times);
      await stage('chart', job.chart, (bytes) => `, ${bytes} B`);
      if (!keep) await stage('clean', job.clean);
      return { ok: true, stages, run };
    } catch (error) {
      // The first failure is the one to throw: what was in its way may be in the way of cleaning too.
      if (!keep) {
        await job.clean().catch(({ message }: Error) => {
          say(
            `✗ 测试数据没有清除，下次测试会清除 / What the test made is not removed, the next test does it: ${message}`,
          );
        });
      }
      throw error;
    }
  });
}

function times(run: Readonly<Record<string, number>>): string {
  const parts = Object.entries(run).map(([name, ms]) => `${name} ${Math.round(ms)}`);
  return ` (${parts.join(', ')})`;
}

function withCa({ url, bucket, caFile }: NonNullable<SelftestOptions['objects']>): Objects {
  return { url, bucket, ...(caFile ? { ca: readFileSync(caFile, 'utf8') } : {}) };
}
