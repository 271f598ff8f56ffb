import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { EXECUTORS_KEY } from './executors.ts';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

describe('probes', () => {
  it('are answered under any Host and without credentials', async () => {
    const { request } = await import('node:http');
    for (const path of ['/livez', '/readyz', '/metrics', '/version']) {
      const status = await new Promise((resolve, reject) => {
        request(`${gateway.url}${path}`, { headers: { host: '10.1.2.3.internal' } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
      expect([path, status]).toEqual([path, 200]);
    }
  });

  it('name each dependency and the schema', async () => {
    const { json } = await gateway.ask('/readyz');
    expect(Object.keys(json.dependencies).sort()).toEqual(['objects', 'postgres', 'redis', 'schema']);
    expect(json.schema.found).toBe(json.schema.wanted);
  });

  it('say that the database is not migrated', async () => {
    const owner = new pg.Client({ connectionString: gateway.database.ownerUrl });
    await owner.connect();
    await owner.query(`update schema_versions set id = '0002-hidden' where id = '0002-auth'`);
    const answer = await gateway.ask('/readyz');
    await owner.query(`update schema_versions set id = '0002-auth' where id = '0002-hidden'`);
    await owner.end();
    expect(answer.status).toBe(503);
    expect(answer.json.dependencies).toMatchObject({
      postgres: { ok: true },
      schema: { ok: false, detail: 'not migrated: 0002-auth' },
    });
  });
});

describe('the version', () => {
  it('reports the weakest sandbox of the living executors', async () => {
    const redis = new Redis(gateway.redis.url);
    const report = (sandbox: string, seenAt: number) =>
      JSON.stringify({ runner: 'local', sandbox, slots: 2, idle: 2, seenAt });
    expect((await gateway.ask('/version')).json).toMatchObject({ runner: null, sandbox: null, objectStore: 'folder' });
    await redis.hset(EXECUTORS_KEY, {
      strong: report('userns+landlock+seccomp', Date.now()),
      weak: report('landlock+seccomp', Date.now()),
      dead: report('seccomp', Date.now() - 60_000),
      broken: '{',
    });
    expect((await gateway.ask('/version')).json).toMatchObject({ runner: 'local', sandbox: 'landlock+seccomp' });
    await redis.quit();
  });
});

describe('metrics', () => {
  it('count requests by route, never by id', async () => {
    await gateway.ask(`/v1/keys/key_${'0'.repeat(32)}`, { method: 'DELETE', key: gateway.first.key ?? '' });
    await gateway.ask('/no/such/path');
    const { text, headers } = await gateway.ask('/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    expect(text).toMatch(/moli_requests_total\{method="DELETE",route="\/v1\/keys\/:id",status="404"\} 1/);
    expect(text).toMatch(/moli_requests_total\{method="GET",route="unmatched",status="404"\} 1/);
    expect(text).toMatch(/moli_errors_total\{code="not_found"\}/);
    expect(text).not.toContain('0'.repeat(32));
  });
});
