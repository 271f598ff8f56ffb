import { writeFile } from 'node:fs/promises';
import { LOCALES, type Locale } from '@moli/errors';
import { configureLog } from '@moli/telemetry';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type GatewayConfig, readGatewayConfig } from '../config.ts';
import type { Role } from '../database/schema.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { Email } from '../identity/identity.schema.ts';
import { KeysService } from '../identity/keys.service.ts';
import { ROLES } from '../identity/roles.ts';
import { UsersStore } from '../identity/users.store.ts';
import { NestLog } from '../nest-log.ts';
import { offlineDocument } from '../openapi/offline-document.ts';
import { InvitationsService } from '../tenants/invitations.service.ts';
import { type Tenant, TenantsService } from '../tenants/tenants.service.ts';
import { type Parsed, parse, UsageError } from './arguments.ts';
import { bootstrap, signInLink } from './bootstrap.command.ts';
import { CommandsModule } from './commands.module.ts';
import { migrateWhenThere } from './migrate.command.ts';
import { selftest } from './selftest/selftest.command.ts';
import { waitForSchema } from './wait-for-schema.command.ts';

/** A command answers a value that is printed as JSON, alone on standard output. */
type Command = (argv: readonly string[], readConfig: () => GatewayConfig) => Promise<unknown>;

const OPERATOR = { actor: 'system' } as const;

/** Runs `work` with the gateway's parts but without its door; connections are closed at the end. */
async function withContext<T>(config: GatewayConfig, work: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  const app = await NestFactory.createApplicationContext(CommandsModule.register(config), {
    logger: new NestLog(),
    abortOnError: false,
  });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

async function tenantOf(app: INestApplicationContext, { options }: Parsed): Promise<Tenant> {
  const wanted = options.tenant;
  const tenant = await app.get(TenantsService).find(wanted);
  if (tenant) return tenant;
  throw wanted
    ? new UsageError({ zh: `没有名为“${wanted}”的团队。`, en: `There is no tenant "${wanted}".` })
    : new UsageError({ zh: '还没有团队，请先启动一次 Moli。', en: 'There is no tenant yet. Start Moli once first.' });
}

function roleOf({ options }: Parsed, fallback: Role): Role {
  const wanted = options.role ?? fallback;
  const role = ROLES.find((one) => one === wanted);
  if (role) return role;
  throw new UsageError({ zh: `角色只能是 ${ROLES.join('、')}。`, en: `A role is one of ${ROLES.join(', ')}.` });
}

/** The named language, or none: that of the configuration then. */
function localeOf({ options }: Parsed): Locale | undefined {
  const wanted = options.locale;
  if (wanted === undefined) return undefined;
  const locale = LOCALES.find((one) => one === wanted);
  if (locale) return locale;
  throw new UsageError({ zh: `语言只能是 ${LOCALES.join('、')}。`, en: `A locale is one of ${LOCALES.join(', ')}.` });
}

function emailOf(text: string | undefined): string {
  const parsed = Email.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError({ zh: `“${text ?? ''}”不是邮箱地址。`, en: `"${text ?? ''}" is not an e-mail address.` });
}

function ownerUrl({ databaseOwnerUrl }: GatewayConfig): string {
  if (databaseOwnerUrl) return databaseOwnerUrl;
  throw new UsageError({
    zh: '迁移需要 MOLI_DATABASE_OWNER_URL：一个可以建角色和表的数据库连接。',
    en: 'Migrating needs MOLI_DATABASE_OWNER_URL: a connection that may create roles and tables.',
  });
}

async function keyCreate(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const parsed = parse(argv, ['tenant', 'user', 'name', 'role']);
  const email = parsed.options.user;
  return withContext(config, async (app) => {
    const tenant = await tenantOf(app, parsed);
    const user = email === undefined ? undefined : await app.get(UsersStore).findByEmail(emailOf(email));
    if (email !== undefined && !user)
      throw new UsageError({ zh: `没有用户 ${email}。`, en: `There is no user ${email}.` });
    const memberships = user ? await app.get(UsersStore).memberships(user.id) : [];
    const membership = memberships.find(({ tenantId }) => tenantId === tenant.id);
    if (user && !membership) {
      throw new UsageError({
        zh: `${email} 不是“${tenant.name}”的成员。`,
        en: `${email} is not a member of "${tenant.name}".`,
      });
    }
    const role = roleOf(parsed, membership?.role ?? 'admin');
    const name = parsed.options.name ?? 'command line';
    const key = await app
      .get(TenantDb)
      .as(tenant.id, (tx) => app.get(KeysService).insert(tx, OPERATOR, { name, role, userId: user?.id ?? null }));
    return { ...key, tenantId: tenant.id };
  });
}

async function tenantCreate(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const parsed = parse(argv, ['owner', 'locale']);
  const locale = localeOf(parsed);
  const name = parsed.positionals[0]?.trim() ?? '';
  if (name === '' || name.length > 100)
    throw new UsageError({ zh: '请给出团队名（1–100 字）。', en: 'Give a name of 1 to 100 characters.' });
  return withContext(config, async (app) => {
    if ((await app.get(TenantsService).find(name))?.name === name) {
      throw new UsageError({ zh: `已有名为“${name}”的团队。`, en: `There is a tenant "${name}" already.` });
    }
    const email = parsed.options.owner;
    const owner = email === undefined ? undefined : await app.get(UsersStore).findByEmail(emailOf(email));
    if (email !== undefined && !owner)
      throw new UsageError({ zh: `没有用户 ${email}。`, en: `There is no user ${email}.` });
    return app.get(TenantsService).create(name, owner?.id ?? null, { locale });
  });
}

async function userInvite(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const parsed = parse(argv, ['tenant', 'role']);
  const email = emailOf(parsed.positionals[0]);
  return withContext(config, async (app) => {
    const tenant = await tenantOf(app, parsed);
    const inviter = { tenantId: tenant.id, role: 'owner' as const, ...OPERATOR };
    const invitation = await app.get(InvitationsService).create(inviter, { email, role: roleOf(parsed, 'member') });
    return { ...invitation, tenantId: tenant.id };
  });
}

async function newSignInLink(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const email = emailOf(parse(argv, []).positionals[0]);
  return withContext(config, async (app) => {
    if (!(await app.get(UsersStore).findByEmail(email)))
      throw new UsageError({ zh: `没有用户 ${email}。`, en: `There is no user ${email}.` });
    return { email, signInLink: await signInLink(app, email) };
  });
}

function allOrNone({ options }: Parsed, name: string): 'all' | 'none' {
  const wanted = options[name] ?? 'all';
  if (wanted === 'all' || wanted === 'none') return wanted;
  throw new UsageError({ zh: `--${name} 只能是 all 或 none。`, en: `--${name} is all or none.` });
}

/** `--credentials none` where the output ends in a log: neither a key nor a link is made then. */
async function firstStart(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const parsed = parse(argv, ['email', 'name', 'tenant', 'credentials']);
  const { options } = parsed;
  const credentials = allOrNone(parsed, 'credentials');
  return withContext(config, (app) =>
    bootstrap(app, {
      credentials: credentials === 'all',
      email: emailOf(options.email ?? 'admin@moli.local'),
      name: options.name ?? 'Admin',
      tenantName: options.tenant ?? 'Moli',
    }),
  );
}

/** Whole seconds of an option. */
function secondsOf({ options }: Parsed, name: string, fallback: number): number {
  const text = options[name];
  if (text === undefined) return fallback;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new UsageError({ zh: `--${name} 应为秒数。`, en: `--${name} is a number of seconds.` });
}

async function migrateDatabase(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const seconds = secondsOf(parse(argv, ['wait']), 'wait', 0);
  const roles = { app: config.databaseUrl, log: config.databaseLogUrl, auth: config.databaseAuthUrl };
  return migrateWhenThere({ ownerUrl: ownerUrl(config), roles }, seconds);
}

function urlOf({ options }: Parsed, name: string): string {
  const text = options[name]?.replace(/\/+$/, '');
  if (text && /^https?:\/\//.test(text)) return text;
  throw new UsageError({ zh: `请用 --${name} 给出 http:// 地址。`, en: `Give an http:// address with --${name}.` });
}

/** `--clean none` leaves what the test made, to be looked at; the next test removes it. */
async function runSelftest(argv: readonly string[], config: GatewayConfig): Promise<unknown> {
  const parsed = parse(argv, ['gateway', 'executor', 'objects', 'bucket', 'objects-ca', 'clean']);
  const { objects, bucket, 'objects-ca': caFile } = parsed.options;
  const clean = allOrNone(parsed, 'clean');
  return withContext(config, (app) =>
    selftest(app, {
      gateway: urlOf(parsed, 'gateway'),
      executor: urlOf(parsed, 'executor'),
      objects: objects === undefined ? undefined : { url: urlOf(parsed, 'objects'), bucket: bucket ?? '', caFile },
      keep: clean === 'none',
      say: (line) => process.stderr.write(`${line}\n`),
    }),
  );
}

/** Needs neither configuration nor a database: the document follows from the code alone. */
async function openapi(argv: readonly string[]): Promise<unknown> {
  const { positionals } = parse(argv, []);
  const document = await offlineDocument();
  if (!positionals[0]) return document;
  await writeFile(positionals[0], `${JSON.stringify(document, null, 2)}\n`);
  return { written: positionals[0] };
}

/** By the words that name it. */
const COMMANDS: Readonly<Record<string, Command>> = {
  migrate: (argv, readConfig) => migrateDatabase(argv, readConfig()),
  'wait-for-schema': (argv, readConfig) =>
    waitForSchema(readConfig().databaseUrl, secondsOf(parse(argv, ['seconds']), 'seconds', 300)),
  bootstrap: (argv, readConfig) => firstStart(argv, readConfig()),
  'key create': (argv, readConfig) => keyCreate(argv, readConfig()),
  'tenant create': (argv, readConfig) => tenantCreate(argv, readConfig()),
  'user invite': (argv, readConfig) => userInvite(argv, readConfig()),
  'sign-in-link': (argv, readConfig) => newSignInLink(argv, readConfig()),
  selftest: (argv, readConfig) => runSelftest(argv, readConfig()),
  openapi,
};

/** Whether the words name a command; without one the process serves. */
export async function runCommand(argv: readonly string[]): Promise<void> {
  const name = Object.keys(COMMANDS).find((words) => argv.slice(0, words.split(' ').length).join(' ') === words);
  const command = name === undefined ? undefined : COMMANDS[name];
  if (!name || !command) {
    const known = Object.keys(COMMANDS).join(', ');
    throw new UsageError({ zh: `没有这个命令。可用：${known}。`, en: `There is no such command. Known: ${known}.` });
  }
  configureLog({ service: 'gateway', level: 'warn' });
  const answer = await command(argv.slice(name.split(' ').length), () => readGatewayConfig(process.env));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
