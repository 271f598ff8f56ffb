import { dirname } from 'node:path';
import { SHARED_FOLDER, testFolder } from './folder.ts';
import { SHARED_URL, startPostgres } from './postgres.ts';

/** Vitest's global setup: one PostgreSQL server for the whole run, started before the first test and stopped after the last. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgres();
  process.env[SHARED_URL] = server.url;
  process.env[SHARED_FOLDER] = dirname(testFolder('run'));
  return async () => {
    delete process.env[SHARED_URL];
    delete process.env[SHARED_FOLDER];
    await server.stop();
  };
}
