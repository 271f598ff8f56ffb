import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, type RunningProcess, startProcess, until } from '@moli/processes';
import { testFolder } from './folder.ts';
import { seaweedProgram, versityProgram } from './s3-programs.ts';

export interface S3Keys {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** A real S3 server of the caller's own, without any bucket. */
export interface TestS3 extends S3Keys {
  readonly name: 'SeaweedFS' | 'versitygw';
  readonly endpoint: string;
  readonly port: number;
  readonly region: string;
  /** A key that may read and list but not write; only SeaweedFS has one. */
  readonly readOnly?: S3Keys;
  stop(): Promise<void>;
}

const REGION = 'us-east-1';
const KEYS: S3Keys = { accessKey: 'moli-test', secretKey: 'moli-test-secret-key' };
const READ_ONLY: S3Keys = { accessKey: 'moli-reader', secretKey: 'moli-reader-secret-key' };
/** The first start of a machine with cold caches. */
const READY_MS = 60_000;

/** SeaweedFS: about four seconds until it answers, eight ports on loopback. The program is fetched at the first call on a machine. */
export async function startS3(): Promise<TestS3> {
  const program = await seaweedProgram();
  const dir = testFolder('seaweedfs');
  const [master, masterRpc, volume, volumeRpc, filer, filerRpc, s3, s3Rpc] = await freePorts(8);
  const identity = (name: string, { accessKey, secretKey }: S3Keys, actions: readonly string[]) => ({
    name,
    credentials: [{ accessKey, secretKey }],
    actions,
  });
  const identities = [
    identity('moli', KEYS, ['Admin', 'Read', 'Write', 'List', 'Tagging']),
    identity('reader', READ_ONLY, ['Read', 'List']),
  ];
  const config = join(dir, 's3.json');
  writeFileSync(config, JSON.stringify({ identities }), { mode: 0o600 });
  await mkdir(join(dir, 'data'));
  const options = {
    dir: join(dir, 'data'),
    ip: '127.0.0.1',
    'ip.bind': '127.0.0.1',
    'master.port': master,
    'master.port.grpc': masterRpc,
    'volume.port': volume,
    'volume.port.grpc': volumeRpc,
    'filer.port': filer,
    'filer.port.grpc': filerRpc,
    'filer.localSocket': join(dir, 'filer.sock'),
    's3.port': s3,
    's3.port.grpc': s3Rpc,
    's3.localSocket': join(dir, 's3.sock'),
    's3.config': config,
    's3.port.iceberg': 0,
    's3.port.lance': 0,
    's3.iam': false,
    // By itself it makes a bucket at the first write; a wrong name has to be seen.
    's3.autoCreateBucket': false,
    'volume.max': 0,
    'master.volumeSizeLimitMB': 64,
    'master.telemetry': false,
  };
  const args = Object.entries(options).map(([name, value]) => `-${name}=${value}`);
  return start({
    name: 'SeaweedFS',
    port: s3!,
    readOnly: READ_ONLY,
    command: program,
    args: ['server', '-s3', ...args],
    // With a key of its own it can encrypt (SSE-S3).
    env: { GOMEMLIMIT: '384MiB', HOME: dir, WEED_S3_SSE_KEK: '7'.repeat(64) },
    cwd: dir,
    // On SIGTERM it waits for more than 15 s.
    stopBy: 'SIGKILL',
  });
}

/** versitygw over a folder: one port, starts in a moment, stricter than SeaweedFS. Null where neither the program nor Go is there. */
export async function startStrictS3(): Promise<TestS3 | null> {
  const program = await versityProgram();
  if (!program) {
    process.stderr.write('NOT TESTED: versitygw, the stricter S3 server, needs Go to be built, and there is none\n');
    return null;
  }
  const dir = testFolder('versitygw');
  const [port] = await freePorts(1);
  await mkdir(join(dir, 'data'));
  return start({
    name: 'versitygw',
    port: port!,
    command: program,
    args: ['--port', `127.0.0.1:${port}`, '--region', REGION, 'posix', join(dir, 'data')],
    env: { ROOT_ACCESS_KEY: KEYS.accessKey, ROOT_SECRET_KEY: KEYS.secretKey, HOME: dir },
    cwd: dir,
    stopBy: 'SIGTERM',
  });
}

/** Ports that are free together: each is held until all are known. */
const freePorts = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, freePort));

interface Start {
  readonly name: TestS3['name'];
  readonly port: number;
  readonly readOnly?: S3Keys;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stopBy: NodeJS.Signals;
}

async function start({ name, port, readOnly, command, args, env, cwd, stopBy }: Start): Promise<TestS3> {
  const log: Buffer[] = [];
  const server = await startProcess({
    command,
    args,
    cwd,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8', ...env },
    deathSignal: 'SIGKILL',
    output: (chunk) => log.push(chunk),
  });
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await waitUntilReady(server, endpoint);
  } catch (error) {
    await server.stop('SIGKILL', 1_000);
    throw new Error(`${name} did not start: ${Buffer.concat(log).toString('utf8').slice(-4_000)}`, { cause: error });
  }
  return {
    name,
    endpoint,
    port,
    region: REGION,
    ...KEYS,
    ...(readOnly ? { readOnly } : {}),
    stop: async () => void (await server.stop(stopBy, 2_000)),
  };
}

/** An anonymous request is refused by S3 itself; before that nothing, or something else, answers. */
async function waitUntilReady(server: RunningProcess, endpoint: string): Promise<void> {
  let gone = false;
  void server.exited.then(() => {
    gone = true;
  });
  const ready = async () => {
    if (gone) throw new Error('the process ended while starting');
    const answer = await fetch(endpoint, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    await answer?.body?.cancel();
    return answer?.status === 403;
  };
  await until(ready, { what: 'the S3 server answers', timeoutMs: READY_MS });
}
