import { randomBytes } from 'node:crypto';
import { migrate } from '@moli/gateway/migrate';
import pg from 'pg';
import { startPostgres } from './postgres.ts';

/** A migrated database of the caller's own, by the roles that the services use. */
export interface TestDatabase {
  readonly name: string;
  readonly appUrl: string;
  readonly logUrl: string;
  readonly authUrl: string;
  /** Superuser: row-level security does not bind it. */
  readonly ownerUrl: string;
  drop(): Promise<void>;
}

const TEMPLATE = 'moli_template';
/** Any number: one process makes the template, the others wait. */
const LOCK = 7_301_440_099;

/** A copy of a database that was migrated once for the whole test run. */
export async function freshDatabase(): Promise<TestDatabase> {
  const server = await startPostgres();
  const name = `moli_${randomBytes(8).toString('hex')}`;
  await asAdmin(server.url, async (admin) => {
    await admin.query('select pg_advisory_lock($1)', [LOCK]);
    const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [TEMPLATE]);
    if (rowCount === 0) await makeTemplate(admin, server.url);
    await admin.query(`create database ${name} template ${TEMPLATE}`);
  });
  return {
    name,
    ...urls(server.url, name),
    drop: () => asAdmin(server.url, async (admin) => void (await admin.query(`drop database ${name} with (force)`))),
  };
}

/** Migrated under another name and renamed when whole: a failed migration is tried again by the next caller. */
async function makeTemplate(admin: pg.Client, serverUrl: string): Promise<void> {
  const making = `${TEMPLATE}_making`;
  await admin.query(`drop database if exists ${making} with (force)`);
  await admin.query(`create database ${making}`);
  const { ownerUrl, appUrl, logUrl, authUrl } = urls(serverUrl, making);
  await migrate({ ownerUrl, roles: { app: appUrl, log: logUrl, auth: authUrl } });
  await admin.query(`alter database ${making} rename to ${TEMPLATE}`);
}

function urls(serverUrl: string, database: string) {
  const as = (user?: string): string => {
    const url = new URL(serverUrl);
    url.pathname = `/${database}`;
    if (user) {
      url.username = user;
      url.password = 'test';
    }
    return url.href;
  };
  return { appUrl: as('moli_app'), logUrl: as('moli_log'), authUrl: as('moli_auth'), ownerUrl: as() };
}

async function asAdmin<T>(url: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}
