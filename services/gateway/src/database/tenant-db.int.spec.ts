import { freshDatabase, type TestDatabase } from '@moli/testing';
import { sql } from 'kysely';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../ids.ts';
import { makePool } from './pools.ts';
import { TenantDb, type TenantTx } from './tenant-db.ts';

let database: TestDatabase;
let pool: pg.Pool;
let db: TenantDb;
const [ours, theirs] = [newId('ten'), newId('ten')];

beforeAll(async () => {
  database = await freshDatabase();
  // One connection: what a transaction leaves behind, the next one finds.
  pool = makePool({ url: database.appUrl, name: 'test', max: 1 });
  db = new TenantDb(pool);
  for (const id of [ours, theirs]) {
    await db.as(id, (tx) => tx.insertInto('tenants').values({ id, name: id }).execute());
  }
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const names = (tx: TenantTx) => tx.selectFrom('tenants').select('name').execute();
const rename = (tx: TenantTx, name: string) => tx.updateTable('tenants').set({ name });
const row = (tx: TenantTx, action: string) =>
  tx.insertInto('audit').values({ actor: 't', action, outcome: 'ok', detail: '{}' });
const actions = async () =>
  (await db.read(ours, (tx) => tx.selectFrom('audit').select('action').execute())).map(({ action }) => action);

it('sees one tenant, and none outside of a transaction', async () => {
  expect(await db.as(ours, names)).toEqual([{ name: ours }]);
  expect(await db.read(theirs, names)).toEqual([{ name: theirs }]);
  expect((await pool.query('select name from tenants')).rows).toEqual([]);
  await expect(db.as("ten_'; select 1 --", names)).rejects.toThrow('malformed');
});

it('sends the statements of a read together, and takes neither late ones nor changes', async () => {
  expect(await db.read(ours, (tx) => Promise.all([names(tx), names(tx)]))).toHaveLength(2);
  const late = db.read(ours, async (tx) => {
    await names(tx);
    return names(tx);
  });
  await expect(late).rejects.toThrow('after the end');
  await expect(db.read(ours, (tx) => rename(tx, 'x').execute())).rejects.toMatchObject({ code: '25006' });
  expect(await db.read(ours, names)).toEqual([{ name: ours }]);
});

it('commits the last statements as a whole or not at all', async () => {
  const rows = await db.as(ours, (tx) => tx.finish([row(tx, 'one').returning('action'), row(tx, 'two')]));
  expect(rows).toEqual([[{ action: 'one' }], []]);
  const refused = db.as(ours, (tx) => tx.finish([row(tx, 'three'), row(tx, 'four').returning('nothing' as 'id')]));
  await expect(refused).rejects.toMatchObject({ code: '42703' });
  // A value that cannot be sent fails before the server hears of it.
  const detail = {
    toPostgres: () => {
      throw new Error('unsendable');
    },
  };
  const unsendable = db.as(ours, (tx) =>
    tx.finish([row(tx, 'five'), tx.updateTable('audit').set({ detail: detail as unknown as string })]),
  );
  await expect(unsendable).rejects.toThrow('unsendable');
  expect(await actions()).toEqual(['one', 'two']);
});

it('takes no statement after the end, whichever way it came', async () => {
  const kept: TenantTx[] = [];
  await db.as(ours, async (tx) => {
    kept.push(tx);
    await tx.finish([row(tx, 'six')]);
    await expect(names(tx)).rejects.toThrow('after the end');
  });
  await expect(
    db.as(ours, async (tx) => {
      kept.push(tx);
      await row(tx, 'seven').execute();
      throw new Error('changed our mind');
    }),
  ).rejects.toThrow('changed our mind');
  for (const tx of kept) await expect(names(tx)).rejects.toThrow('after the end');
  expect(await actions()).toEqual(['one', 'two', 'six']);
});

it('says so when a failure was overlooked and nothing was committed', async () => {
  const overlooked = db.as(ours, async (tx) => {
    await row(tx, 'eight').execute();
    await rename(tx, null as unknown as string)
      .execute()
      .catch(() => {});
  });
  await expect(overlooked).rejects.toThrow(/aborted|rolled back/i);
  expect(await actions()).not.toContain('eight');
});

it('goes on after the server cut the connection', async () => {
  const cut = db.as(ours, async (tx) => {
    await row(tx, 'nine').execute();
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx);
  });
  await expect(cut).rejects.toThrow();
  expect(await actions()).not.toContain('nine');
});
