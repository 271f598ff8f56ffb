import { join } from 'node:path';
import { freePort, startPostgresServer, startRedisServer } from './index.ts';

/** Starts both servers in the folder given, tells their parent which processes they are, and waits to be killed. */
const dir = process.argv[2] as string;
const output = () => {};
const postgres = await startPostgresServer({
  dir: join(dir, 'postgres'),
  port: await freePort(),
  password: 'x',
  settings: { fsync: 'off' },
  output,
});
const redis = await startRedisServer({ dir: join(dir, 'redis'), port: await freePort(), password: 'x', output });
process.send?.([postgres.process.id, redis.process.id]);
