import { freePort, startRedisServer } from '@moli/processes';
import { testFolder } from './folder.ts';

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** A real redis-server of the caller's own, with its append-only file on. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  const log: Buffer[] = [];
  const server = await startRedisServer({
    dir: testFolder('redis'),
    port,
    password: 'test',
    fsync: 'no',
    output: (chunk) => log.push(chunk),
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${Buffer.concat(log).toString('utf8')}`, { cause: error });
  });
  return { url: server.url, port, stop: () => server.stop() };
}
