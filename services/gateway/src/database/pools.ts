import { log } from '@moli/telemetry';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { GatheringSocket } from './gathering-socket.ts';
import type { Database } from './schema.ts';

interface PoolOptions {
  readonly url: string;
  readonly name: string;
  readonly max: number;
  /** Schemas in which table names are looked up. */
  readonly searchPath?: string;
}

/**
 * A pool that survives the server's absence: broken idle connections are dropped with a log line, new ones are made on demand. Waiting for a
 * connection ends after 5 s, so that requests fail clearly (503) while Postgres is away.
 */
export function makePool({ url, name, max, searchPath = 'public' }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: name,
    max,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    // A statement that runs this long has lost its reader; the migrator uses its own connection.
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    // Statements of one transaction go out behind each other; see TenantTx.
    pipeline: true,
    stream: () => new GatheringSocket(),
    options: `-c search_path=${searchPath}`,
  });
  // The pool listens to idle connections only: one that breaks between two statements of a transaction would end the process. Its next statement fails.
  pool.on('connect', (client) =>
    client.on('error', (error) => log.warn('a database connection broke', { pool: name, error })),
  );
  pool.on('error', (error) => log.warn('an idle database connection broke', { pool: name, error }));
  return pool;
}

export function kyselyOf(pool: pg.Pool): Kysely<Database> {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
