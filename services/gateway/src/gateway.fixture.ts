import type { AddressInfo } from 'node:net';
import { freshDatabase, startRedis, type TestDatabase, type TestRedis, testFolder } from '@moli/testing';
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
  /** A person with a password, member of a tenant. */
  newPerson(tenantId: string, role: Role): Promise<{ id: string; email: string; password: string }>;
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
  const response = await fetch(`${url}${path}`, {
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
  const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
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
    newPerson: (tenantId, role) => newPerson(app, tenantId, role),
    close: async () => {
      await app.close();
      await Promise.all([database.drop(), redis.stop()]);
    },
  };
}
