import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { freshDatabase, startRedis, startS3, type TestDatabase, type TestRedis, testFolder } from '@moli/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './app.ts';
import { type BootstrapResult, bootstrap } from './commands/bootstrap.command.ts';
import { type GatewayConfig, readGatewayConfig } from './config.ts';
import type { Role } from './database/schema.ts';
import { TenantDb } from './database/tenant-db.ts';
import { KeysService } from './identity/keys.service.ts';
import { UsersStore } from './identity/users.store.ts';
import { newId } from './ids.ts';
import type { RouteEntry } from './routes.ts';
import { MembersStore } from './tenants/members.store.ts';
import { TenantsService } from './tenants/tenants.service.ts';

/** A tenant with a key of each role. */
export interface TestTenant {
  readonly id: string;
  readonly keys: Readonly<Record<Role, string>>;
}

/** A whole gateway of the test's own on real Postgres and Redis, listening on a free port. */
export interface TestGateway {
  readonly app: NestFastifyApplication;
  readonly routes: readonly RouteEntry[];
  readonly config: GatewayConfig;
  readonly url: string;
  readonly first: BootstrapResult;
  readonly database: TestDatabase;
  readonly redis: TestRedis;
  /** Asks by HTTP; `key` becomes the Authorization header, a plain object body becomes JSON. */
  ask(path: string, options?: AskOptions): Promise<Answer>;
  newTenant(name?: string): Promise<TestTenant>;
  /** A second gateway on the same Postgres, Redis and objects. */
  newReplica(): Promise<TestReplica>;
  /** A person with a password, member of a tenant. */
  newPerson(tenantId: string, role: Role): Promise<{ id: string; email: string; password: string }>;
  close(): Promise<void>;
}

export interface TestReplica {
  readonly app: NestFastifyApplication;
  readonly url: string;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  close(): Promise<void>;
}

export interface AskOptions {
  readonly method?: string;
  readonly key?: string;
  readonly cookie?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any;
}

async function ask(
  url: string,
  path: string,
  { method, key, cookie, body, headers = {} }: AskOptions = {},
): Promise<Answer> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  // Links of an S3 store lead elsewhere.
  const response = await fetch(/^https?:/.test(path) ? path : `${url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    redirect: 'manual',
    headers: {
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(cookie ? { cookie, origin: url } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

/** The cookies of an answer as a Cookie header. */
export function cookieOf(answer: Answer): string {
  return answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

async function newTenant(app: NestFastifyApplication, name: string): Promise<TestTenant> {
  const tenant = await app.get(TenantsService).create(name, null);
  const keys = app.get(KeysService);
  const made = await app.get(TenantDb).as(tenant.id, async (tx) => {
    const entries: [Role, string][] = [];
    for (const role of ['owner', 'admin', 'member', 'viewer'] as const) {
      entries.push([role, (await keys.insert(tx, { actor: 'system' }, { name: role, role, userId: null })).key]);
    }
    return Object.fromEntries(entries) as Record<Role, string>;
  });
  return { id: tenant.id, keys: made };
}

async function newPerson(app: NestFastifyApplication, tenantId: string, role: Role) {
  const users = app.get(UsersStore);
  const password = 'correct horse battery';
  const user = await users.create(`${newId('usr')}@example.org`, 'Test Person');
  await users.setPassword(user.id, password);
  await app.get(TenantDb).as(tenantId, (tx) => app.get(MembersStore).add(tx, user.id, role));
  return { id: user.id, email: user.email, password };
}

/** The two places that objects can be in, for suites that run on both. */
export const OBJECT_STORES = ['folder', 's3'] as const;

/** Variables for one of them; the S3 server is a real one of the caller's own, with a bucket that is not there yet. */
export async function startObjects(
  kind: (typeof OBJECT_STORES)[number],
): Promise<{ env: Record<string, string>; stop: () => Promise<void> }> {
  if (kind === 'folder') return { env: {}, stop: async () => {} };
  const server = await startS3();
  return {
    env: {
      MOLI_OBJECTS: 's3',
      MOLI_S3_ENDPOINT: server.endpoint,
      MOLI_S3_REGION: server.region,
      MOLI_S3_BUCKET: `moli-${randomBytes(6).toString('hex')}`,
      MOLI_S3_ACCESS_KEY: server.accessKey,
      MOLI_S3_SECRET_KEY: server.secretKey,
    },
    stop: () => server.stop(),
  };
}

async function startReplica(config: GatewayConfig): Promise<TestReplica> {
  const { app } = await createApp(config);
  await app.listen({ port: config.port, host: '127.0.0.1' });
  const url = urlOf(app);
  return { app, url, ask: (path, options) => ask(url, path, options), close: () => app.close() };
}

const urlOf = (app: NestFastifyApplication): string =>
  `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;

/**
 * Starts it. `env` adds to or replaces variables of the configuration; `through` may lead each connection URL of Postgres and Redis elsewhere, to cut
 * it on purpose.
 */
export async function startTestGateway(
  env: Record<string, string> = {},
  through: (url: string) => string | Promise<string> = (url) => url,
): Promise<TestGateway> {
  const [database, redis] = await Promise.all([freshDatabase(), startRedis()]);
  const config = readGatewayConfig({
    MOLI_DATABASE_URL: await through(database.appUrl),
    MOLI_DATABASE_LOG_URL: await through(database.logUrl),
    MOLI_DATABASE_AUTH_URL: await through(database.authUrl),
    MOLI_REDIS_URL: await through(redis.url),
    MOLI_OBJECTS_DIR: testFolder('objects'),
    MOLI_UPLOAD_DIR: testFolder('uploads'),
    MOLI_SECRET: '5'.repeat(64),
    MOLI_PORT: '0',
    ...env,
  });
  const { app, routes } = await createApp(config);
  const first = await bootstrap(app, { email: 'admin@moli.local', name: 'Admin', tenantName: 'First' });
  await app.listen({ port: config.port, host: '127.0.0.1' });
  const url = urlOf(app);
  return {
    app,
    routes,
    config,
    url,
    first,
    database,
    redis,
    ask: (path, options) => ask(url, path, options),
    newTenant: (name = 'Second') => newTenant(app, name),
    newReplica: () => startReplica(config),
    newPerson: (tenantId, role) => newPerson(app, tenantId, role),
    close: async () => {
      await app.close();
      await Promise.all([database.drop(), redis.stop()]);
    },
  };
}
