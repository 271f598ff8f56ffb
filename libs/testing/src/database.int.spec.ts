import pg from 'pg';
import { expect, test } from 'vitest';
import { freshDatabase } from './database.ts';
import { startRedis } from './redis.ts';

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test('each database is migrated, of its own, and the serving role is bound by policies', async () => {
  const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
  await query(one.ownerUrl, `insert into tenants (id, name) values ('ten_${'0'.repeat(32)}', 'one')`);
  expect(await query(one.ownerUrl, 'select name from tenants')).toEqual([{ name: 'one' }]);
  expect(await query(two.ownerUrl, 'select name from tenants')).toEqual([]);
  expect(
    await query(one.appUrl, 'select rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user'),
  ).toEqual([{ unbound: false }]);
  await one.drop();
  await expect(query(one.ownerUrl, 'select 1')).rejects.toThrow(/does not exist/);
});

test('a redis server is reachable with its password alone', async () => {
  const redis = await startRedis();
  const { Redis } = await import('ioredis');
  const client = new Redis(redis.url);
  expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'yes']);
  const stranger = new Redis(redis.url.replace(':test@', ''), { retryStrategy: () => null });
  stranger.on('error', () => {});
  await expect(stranger.ping()).rejects.toThrow(/NOAUTH/);
  client.disconnect();
  stranger.disconnect();
  await redis.stop();
});
