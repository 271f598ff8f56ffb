import { freePort, startPostgresServer } from '@moli/processes';
import { testFolder } from './folder.ts';

export interface TestPostgres {
  /** Superuser, database `postgres`. */
  readonly url: string;
  /** Does nothing for a server that the whole test run shares. */
  stop(): Promise<void>;
}

/** Set by the global setup of a test run: its processes share one server and have a database for each file. */
export const SHARED_URL = 'MOLI_TEST_POSTGRES_URL';

/** Tests lose nothing when the machine goes down. */
const UNSAFE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

let running: Promise<TestPostgres> | undefined;

/** A real PostgreSQL server: the one of this test run, or one of this process. */
export function startPostgres(): Promise<TestPostgres> {
  running ??= start();
  return running;
}

async function start(): Promise<TestPostgres> {
  const shared = process.env[SHARED_URL];
  if (shared) return { url: shared, stop: async () => {} };
  const log: Buffer[] = [];
  const server = await startPostgresServer({
    dir: testFolder('postgres'),
    port: await freePort(),
    password: 'test',
    settings: UNSAFE,
    output: (chunk) => log.push(chunk),
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${Buffer.concat(log).toString('utf8')}`, { cause: error });
  });
  return {
    url: server.url,
    stop: async () => {
      running = undefined;
      await server.stop();
    },
  };
}
