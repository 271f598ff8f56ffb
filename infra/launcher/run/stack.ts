import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { portHolder } from '@moli/processes';
import { Failure } from '../failure.ts';
import { type DataFolder, ROOT } from '../paths.ts';
import type { Text } from '../words.ts';
import { type FirstStart, GATEWAY, gatewayCommand } from './gateway-cli.ts';
import { LogFile } from './log-file.ts';
import { MARK } from './orphans.ts';
import { readSecrets, type Secrets } from './secrets.ts';
import { nodeService, postgresService, privatePorts, redisService } from './service.ts';
import { isModelName, pick, type Settings } from './settings.ts';
import type { ServiceState, State } from './state.ts';
import { Supervisor } from './supervisor.ts';

export interface StackOptions {
  readonly folder: DataFolder;
  readonly host: string;
  readonly port: number;
  readonly python: string;
  readonly settings: Settings;
  readonly say: (text: Text) => void;
  readonly changed: (states: ServiceState[], url: string) => void;
  /** Ends a start that is under way. */
  readonly signal: AbortSignal;
}

export interface Stack {
  readonly url: string;
  readonly first: FirstStart;
  stop(): Promise<void>;
}

type Ports = Record<'postgres' | 'redis' | 'executor', number>;

// A start on a slow machine after a crash may replay a long log; far over what it takes otherwise (1–3 s).
const READY_MS = 60_000;
// Their sum is under the 5 s in which everything has to be gone.
const GRACE_MS = { gateway: 2_000, executor: 1_200, redis: 700, postgres: 800 };

/** Starts everything on one data folder, in the order of need, and answers when all of it is ready. On failure everything is stopped again. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { folder } = options;
  assertPortIsFree(options.port);
  for (const dir of [folder.objects, folder.uploads, folder.sandbox]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  const secrets = readSecrets(folder.secrets);
  const ports = await privatePorts(['postgres', 'redis', 'executor']);
  const url = options.settings.MOLI_PUBLIC_URL ?? `http://localhost:${options.port}`;
  const supervisor = new Supervisor({
    say: options.say,
    changed: (states) => options.changed(states, url),
    signal: options.signal,
  });
  const log = (name: string) => new LogFile(folder.logs, name);
  const gateway = gatewayEnv(options, secrets, ports, url);
  const startGateway = async () => {
    await migrate(folder, { ...gateway, MOLI_DATABASE_OWNER_URL: databaseUrl('postgres', secrets.postgres, ports) });
    const [first] = await Promise.all([
      gatewayCommand<FirstStart>(gateway, ['bootstrap']),
      supervisor.start(gatewayService(options, gateway, log('gateway')), GRACE_MS.gateway),
    ]);
    return first;
  };
  try {
    await Promise.all([
      supervisor.start(
        postgresService({
          dir: folder.postgres,
          port: ports.postgres,
          password: secrets.postgres,
          log: log('postgres'),
        }),
        GRACE_MS.postgres,
      ),
      supervisor.start(
        redisService({ dir: folder.redis, port: ports.redis, password: secrets.redis, log: log('redis') }),
        GRACE_MS.redis,
      ),
    ]);
    const [, first] = await Promise.all([
      supervisor.start(executorService(options, secrets, ports, log('executor')), GRACE_MS.executor),
      startGateway(),
    ]);
    return { url, first, stop: () => supervisor.stop() };
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}

/** The environment of the gateway of a running stack, for its commands. */
export function gatewayEnvOf(folder: DataFolder, settings: Settings, state: State): Record<string, string> {
  const port = (name: string) => state.services.find((service) => service.name === name)?.port ?? 0;
  const ports = { postgres: port('postgres'), redis: port('redis'), executor: port('executor') };
  return gatewayEnv(
    { folder, host: '127.0.0.1', port: state.port, settings },
    readSecrets(folder.secrets),
    ports,
    state.url,
  );
}

/**
 * Brings the database to the schema of this build. Beside the cluster is written which build did it last: the next start of the same one
 * saves a second. A gateway on a database that is not migrated refuses to serve, so a wrong note can't do harm.
 */
async function migrate(folder: DataFolder, env: Record<string, string>): Promise<void> {
  const note = join(folder.postgres, 'migrated-by');
  const { size, mtimeMs } = statSync(GATEWAY);
  const build = `${size}-${mtimeMs}`;
  if (existsSync(note) && readFileSync(note, 'utf8') === build) return;
  await gatewayCommand(env, ['migrate']);
  writeFileSync(note, build);
}

function assertPortIsFree(port: number): void {
  const holder = portHolder(port);
  if (!holder) return;
  const who = holder.pid ? `${holder.command} (pid ${holder.pid})` : undefined;
  throw new Failure({
    zh: `端口 ${port} 已被占用${who ? `：${who}` : '（占用者属于其他用户）'}。请先停止它，或用 --port 换一个端口。`,
    en: `Port ${port} is in use ${who ? `by ${who}` : 'by a process of another user'}. Stop it, or choose another port with --port.`,
  });
}

function databaseUrl(role: string, password: string, ports: Ports): string {
  return `postgres://${role}:${password}@127.0.0.1:${ports.postgres}/postgres`;
}

function redisUrl(secrets: Secrets, ports: Ports): string {
  return `redis://:${secrets.redis}@127.0.0.1:${ports.redis}`;
}

function gatewayEnv(
  { folder, host, port, settings }: Pick<StackOptions, 'folder' | 'host' | 'port' | 'settings'>,
  secrets: Secrets,
  ports: Ports,
  url: string,
): Record<string, string> {
  const everyAddress = host === '0.0.0.0' || host === '::';
  return {
    // Any setting of the gateway may be configured; what follows is ours to decide.
    ...pick(
      settings,
      (name) => (name.startsWith('MOLI_') && !/^MOLI_(CACHE|TOOLS|SANDBOX_|EXECUTOR_)/.test(name)) || isModelName(name),
    ),
    [MARK]: folder.dir,
    NODE_ENV: 'production',
    // MiB. With 4 it takes 20 MB less at rest, and a fifth of its time under many streams goes into collecting garbage.
    NODE_OPTIONS: '--max-semi-space-size=16',
    MOLI_HOST: host,
    MOLI_PORT: String(port),
    MOLI_PUBLIC_URL: url,
    MOLI_INTERNAL_URL: `http://${everyAddress ? '127.0.0.1' : host}:${port}`,
    MOLI_ALLOWED_HOSTS: [settings.MOLI_ALLOWED_HOSTS, ...hostNames(host, port)].filter(Boolean).join(','),
    MOLI_DATABASE_URL: databaseUrl('moli_app', secrets.app, ports),
    MOLI_DATABASE_LOG_URL: databaseUrl('moli_log', secrets.log, ports),
    MOLI_DATABASE_AUTH_URL: databaseUrl('moli_auth', secrets.auth, ports),
    MOLI_REDIS_URL: redisUrl(secrets, ports),
    MOLI_OBJECTS_DIR: folder.objects,
    MOLI_UPLOAD_DIR: folder.uploads,
    MOLI_SECRET: secrets.root,
    MOLI_WEB_DIR: join(ROOT, 'services/web/dist'),
    MOLI_SHUTDOWN_SECONDS: String(GRACE_MS.gateway / 1000),
  };
}

/** The names under which a browser may reach us: loopback always, the machine's own addresses when it listens on them. */
function hostNames(host: string, port: number): string[] {
  const loopback = [`localhost:${port}`, `127.0.0.1:${port}`];
  if (host === '127.0.0.1' || host === 'localhost') return loopback;
  if (host !== '0.0.0.0' && host !== '::') return [...loopback, `${host}:${port}`];
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const own = addresses.map(({ family, address }) => (family === 'IPv6' ? `[${address}]` : address));
  return [...new Set([...loopback, ...own.map((address) => `${address}:${port}`), `${hostname()}:${port}`])];
}

function gatewayService(options: StackOptions, env: Record<string, string>, log: LogFile) {
  return nodeService({
    name: 'gateway',
    port: options.port,
    main: GATEWAY,
    env,
    cwd: options.folder.dir,
    log,
    readyUrl: `${env.MOLI_INTERNAL_URL}/readyz`,
    readyTimeoutMs: READY_MS,
  });
}

/** The executor gets what a run needs and nothing else: no database, no model key, no root secret. */
function executorService({ folder, python, settings }: StackOptions, secrets: Secrets, ports: Ports, log: LogFile) {
  return nodeService({
    name: 'executor',
    port: ports.executor,
    main: join(ROOT, 'services/executor/dist/main.js'),
    env: {
      ...pick(settings, (name) => /^MOLI_(SANDBOX_|EXECUTOR_|OTLP_|LOG_LEVEL$)/.test(name)),
      [MARK]: folder.dir,
      NODE_ENV: 'production',
      // Small generations (MiB; results of 8 MiB a run at most): a flood of output is collected as it passes instead of growing the heap.
      NODE_OPTIONS: `--max-semi-space-size=2 --max-old-space-size=${96 + 8 * Number(settings.MOLI_SANDBOX_SLOTS ?? 4)}`,
      MOLI_EXECUTOR_PORT: String(ports.executor),
      MOLI_REDIS_URL: redisUrl(secrets, ports),
      MOLI_SANDBOX_PYTHON: python,
      MOLI_SANDBOX_DIR: join(ROOT, 'sandbox'),
      MOLI_SANDBOX_STATE_DIR: folder.sandbox,
    },
    cwd: folder.dir,
    log,
    readyUrl: `http://127.0.0.1:${ports.executor}/readyz`,
    readyTimeoutMs: READY_MS,
  });
}
