import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type RunningProcess, startProcess } from './process.ts';
import { until } from './until.ts';

export interface RedisOptions {
  /** Folder of the append-only file and the configuration; made when it is not there. */
  readonly dir: string;
  readonly port: number;
  /** Every user of the machine can reach loopback: without it nobody gets in. */
  readonly password: string;
  /** `everysec` by default; `no` for tests. */
  readonly fsync?: 'always' | 'everysec' | 'no';
  readonly output: (chunk: Buffer) => void;
  readonly readyTimeoutMs?: number;
}

export interface RunningRedis {
  readonly process: RunningProcess;
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the machine's redis-server on loopback with its append-only file on, and returns when it answers. */
export async function startRedisServer(options: RedisOptions): Promise<RunningRedis> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const configuration = join(options.dir, 'redis.conf');
  writeFileSync(configuration, configurationText(options), { mode: 0o600 });
  const server = await startProcess({
    command: 'redis-server',
    args: [configuration],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
    cwd: options.dir,
    deathSignal: 'SIGTERM',
    output: options.output,
  });
  const url = `redis://:${encodeURIComponent(options.password)}@127.0.0.1:${options.port}`;
  let gone = false;
  void server.exited.then(() => {
    gone = true;
  });
  const ready = async () => {
    if (gone) throw new Error('redis-server ended while starting; its log says why');
    return answers(url);
  };
  try {
    await until(ready, { what: 'redis answers', timeoutMs: options.readyTimeoutMs ?? 30_000 });
  } catch (error) {
    await server.stop('SIGTERM', 1_000);
    throw error;
  }
  // SIGTERM writes everything that is pending before it ends.
  return { process: server, url, stop: async () => void (await server.stop('SIGTERM', 4_000)) };
}

/** The password is in the file (0600) and not on the command line, which every user can read. */
function configurationText(options: RedisOptions): string {
  return [
    'bind 127.0.0.1',
    `port ${options.port}`,
    `dir ${JSON.stringify(options.dir)}`,
    `requirepass ${JSON.stringify(options.password)}`,
    'appendonly yes',
    `appendfsync ${options.fsync ?? 'everysec'}`,
    // The append-only file is the only copy: no snapshots beside it.
    'save ""',
    // A queue must never lose keys to make room.
    'maxmemory-policy noeviction',
    'daemonize no',
    'logfile ""',
    'loglevel notice',
    '',
  ].join('\n');
}

/** Loading a long append-only file answers LOADING for a while, which is "not yet". */
async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 2_000,
    maxRetriesPerRequest: 0,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
