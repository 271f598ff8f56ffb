import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { accessSql } from './access.ts';
import { ensureRoles, type RoleUrls } from './roles.ts';

/** One forward-only step. `id` is the file name without `.sql`; the order is that of the names. */
interface Migration {
  readonly id: string;
  readonly sql: string;
  readonly checksum: string;
}

/** Next to this file in the source tree, next to the bundle in `dist`: the build copies the folder. */
const FOLDER = fileURLToPath(new URL('./migrations/', import.meta.url));

/** Any number, the same in every process: one migrator a database at a time. */
const LOCK = 7_301_440_001;

/** Id of the row that says which policies and grants are in force. */
const ACCESS_ROW = 'access';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function migrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const sql = readFileSync(`${FOLDER}${name}`, 'utf8');
      return { id: name.slice(0, -'.sql'.length), sql, checksum: sha256(sql) };
    });
}

/** Versions that this code was written for: file name and checksum, and those of the policies. */
function wanted(): Map<string, string> {
  const versions = new Map(migrations().map(({ id, checksum }) => [id, checksum]));
  return versions.set(ACCESS_ROW, sha256(accessSql()));
}

export interface MigrateOptions {
  /** A superuser, or a role that may create roles and schemas in this database. */
  readonly ownerUrl: string;
  /** Where the services will connect; user names and passwords are taken from here. */
  readonly roles: RoleUrls;
}

/** What was done; empty lists when the database was up to date. */
export interface MigrateResult {
  readonly applied: string[];
  readonly accessChanged: boolean;
}

async function appliedVersions(client: pg.ClientBase): Promise<Map<string, string>> {
  const { rows } = await client.query<{ id: string; checksum: string }>('select id, checksum from schema_versions');
  return new Map(rows.map((row) => [row.id, row.checksum]));
}

/** A migration never changes after it was applied, and a database never goes back. */
function assertForward(applied: ReadonlyMap<string, string>, known: readonly Migration[]): void {
  const byId = new Map(known.map((migration) => [migration.id, migration]));
  for (const [id, checksum] of applied) {
    if (id === ACCESS_ROW) continue;
    const migration = byId.get(id);
    if (!migration)
      throw new Error(
        `the database has migration ${id}, which this version of Moli does not know: use the newer version`,
      );
    if (migration.checksum !== checksum) throw new Error(`migration ${id} differs from the one that was applied`);
  }
}

async function inTransaction(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await client.query('set local role moli_owner');
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

const REMEMBER = `insert into schema_versions (id, checksum) values ($1, $2)
  on conflict (id) do update set checksum = excluded.checksum, applied_at = now()`;

/**
 * Brings a database to this code's schema: roles, then each missing SQL file in its own transaction, then policies and grants. Safe to call
 * from several processes at once and after a kill at any step. Run by the `migrate` command, never by a serving gateway.
 */
export async function migrate({ ownerUrl, roles }: MigrateOptions): Promise<MigrateResult> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'moli-migrate' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await ensureRoles(client, roles);
    await inTransaction(client, async () => {
      await client.query(`create table if not exists schema_versions (
        id text primary key, checksum text not null, applied_at timestamptz not null default now())`);
    });
    const known = migrations();
    const before = await appliedVersions(client);
    assertForward(before, known);
    const missing = known.filter(({ id }) => !before.has(id));
    for (const { id, sql, checksum } of missing) {
      await inTransaction(client, async () => {
        await client.query(sql);
        await client.query(REMEMBER, [id, checksum]);
      });
    }
    const access = accessSql();
    const accessChanged = missing.length > 0 || before.get(ACCESS_ROW) !== sha256(access);
    if (accessChanged) {
      await inTransaction(client, async () => {
        await client.query(access);
        await client.query(REMEMBER, [ACCESS_ROW, sha256(access)]);
      });
    }
    return { applied: missing.map(({ id }) => id), accessChanged };
  } finally {
    await client.end();
  }
}

/** State of a database as a serving process sees it. */
export interface SchemaState {
  /** Name of the newest migration of this code. */
  readonly wanted: string;
  /** Name of the newest migration in the database; null when there is none. */
  readonly found: string | null;
  /** Migrations of this code that are missing or differ; `access` stands for policies and grants. */
  readonly missing: string[];
  /** Migrations that this code does not know: the database is newer. */
  readonly unknown: string[];
}

/** Compares the database with this code. Throws what the connection throws, and reports a database without our tables as all missing. */
export async function schemaState(db: Pick<pg.Pool, 'query'>): Promise<SchemaState> {
  const want = wanted();
  const { rows } = await db
    .query<{ id: string; checksum: string }>('select id, checksum from schema_versions order by id')
    .catch((error: { code?: string }) => {
      if (error.code === '42P01') return { rows: [] };
      throw error;
    });
  const found = new Map(rows.map((row) => [row.id, row.checksum]));
  const names = (versions: ReadonlyMap<string, string>): string[] =>
    [...versions.keys()].filter((id) => id !== ACCESS_ROW).sort();
  return {
    wanted: names(want).at(-1) ?? '',
    found: names(found).at(-1) ?? null,
    missing: [...want].filter(([id, checksum]) => found.get(id) !== checksum).map(([id]) => id),
    unknown: names(found).filter((id) => !want.has(id)),
  };
}
