import { freshDatabase, type TestDatabase } from '@moli/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCESS } from './access.ts';
import { migrate, schemaState } from './migrator.ts';
import { makePool } from './pools.ts';
import { assertBoundRole } from './roles.ts';

let database: TestDatabase;
let owner: pg.Pool;
let app: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  owner = new pg.Pool({ connectionString: database.ownerUrl });
  app = makePool({ url: database.appUrl, name: 'test', max: 2 });
});
afterAll(async () => {
  await Promise.all([owner.end(), app.end()]);
  await database.drop();
});

const roles = () => ({ app: database.appUrl, log: database.logUrl, auth: database.authUrl });

/** Tables without tenants' rows; every other table of our schemas is bound by row-level security. */
const WITHOUT_TENANTS = [
  'public.gateways',
  'public.schema_versions',
  'auth.user',
  'auth.session',
  'auth.account',
  'auth.verification',
];

describe('migrate', () => {
  it('does nothing the second time, also when several processes call at once', async () => {
    const results = await Promise.all([1, 2, 3].map(() => migrate({ ownerUrl: database.ownerUrl, roles: roles() })));
    expect(results).toEqual(results.map(() => ({ applied: [], accessChanged: false })));
    expect(await schemaState(app)).toMatchObject({ missing: [], unknown: [] });
  });

  it('refuses a database that a newer version migrated, and one whose migration differs', async () => {
    await owner.query(`insert into schema_versions (id, checksum) values ('9999-future', 'x')`);
    await expect(migrate({ ownerUrl: database.ownerUrl, roles: roles() })).rejects.toThrow(/9999-future/);
    expect((await schemaState(app)).unknown).toEqual(['9999-future']);
    await owner.query(`delete from schema_versions where id = '9999-future'`);
    await owner.query(`update schema_versions set checksum = 'other' where id = '0001-first'`);
    await expect(migrate({ ownerUrl: database.ownerUrl, roles: roles() })).rejects.toThrow(/0001-first differs/);
    expect((await schemaState(app)).missing).toEqual(['0001-first']);
  });

  it('reports a database without our tables as not migrated', async () => {
    await owner.query('create database empty_for_test');
    const url = new URL(database.appUrl);
    url.pathname = '/empty_for_test';
    const pool = makePool({ url: url.href, name: 'test', max: 1 });
    expect((await schemaState(pool)).missing).toContain('0001-first');
    await pool.end();
    await owner.query('drop database empty_for_test with (force)');
  });
});

describe('row-level security', () => {
  it('is on, forced and has a policy on every table of ours', async () => {
    const { rows } = await owner.query<{ name: string; on: boolean; forced: boolean; policies: string }>(`
      select n.nspname || '.' || c.relname as name, c.relrowsecurity as on, c.relforcerowsecurity as forced,
        (select count(*) from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant') as policies
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ('public', 'auth')`);
    expect(rows.length).toBeGreaterThan(Object.keys(ACCESS).length);
    const open = rows.filter(({ on, forced, policies }) => !on || !forced || policies !== '1').map(({ name }) => name);
    expect(open.sort()).toEqual([...WITHOUT_TENANTS].sort());
  });

  it('covers every table of the database schema that the code knows', async () => {
    const { rows } = await owner.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public'`,
    );
    const known = [...Object.keys(ACCESS), 'schema_versions'].sort();
    expect(rows.map(({ name }) => name).sort()).toEqual(known);
  });

  it('refuses roles that it would not bind', async () => {
    await expect(assertBoundRole(app, 'moli_app')).resolves.toBeUndefined();
    await expect(assertBoundRole(app, 'moli_log')).rejects.toThrow(/not as moli_log/);
    await expect(assertBoundRole(owner, 'postgres')).rejects.toThrow(/superuser/);
  });

  it('lets the log role write events and read none', async () => {
    const log = makePool({ url: database.logUrl, name: 'test', max: 1 });
    await expect(log.query('select * from events')).rejects.toMatchObject({ code: '42501' });
    await expect(log.query('select title from sessions')).rejects.toMatchObject({ code: '42501' });
    await expect(log.query('select id, fence from sessions')).resolves.toBeDefined();
    await log.end();
  });

  it('lets nobody change or remove an audit row', async () => {
    const tenant = `ten_${'a'.repeat(32)}`;
    const client = await app.connect();
    await client.query('begin');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [tenant]);
    await client.query(`insert into audit (actor, action, outcome) values ('t', 't', 'ok')`);
    await client.query('commit');
    for (const text of [`update audit set actor = 'x'`, 'delete from audit']) {
      await client.query('begin');
      await client.query(`select set_config('app.tenant_id', $1, true)`, [tenant]);
      await expect(client.query(text)).rejects.toMatchObject({ code: '42501' });
      await client.query('rollback');
    }
    client.release();
  });
});
