import { join } from 'node:path';
import pg from 'pg';
import { readSecrets } from '../../infra/launcher/run/secrets.ts';
import type { Stack } from './stack.ts';

/** A stack's database as its superuser, past every door and policy. End the client when done. */
export async function openDatabase(stack: Stack): Promise<pg.Client> {
  const postgres = (await stack.status()).services.find(({ name }) => name === 'postgres');
  const { postgres: password } = readSecrets(join(stack.place.dataDir, 'secrets.json'));
  const client = new pg.Client({
    host: '127.0.0.1',
    port: postgres?.port,
    user: 'postgres',
    database: 'postgres',
    password,
  });
  await client.connect();
  return client;
}
