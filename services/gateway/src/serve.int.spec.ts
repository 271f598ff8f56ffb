import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { freshDatabase, startRedis, type TestDatabase, type TestRedis, testFolder } from '@moli/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startObjects } from './gateway.fixture.ts';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let database: TestDatabase;
let redis: TestRedis;
let env: Record<string, string>;

beforeAll(async () => {
  if (!existsSync(MAIN))
    execFileSync('npm', ['run', '-s', 'build'], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      stdio: 'ignore',
    });
  [database, redis] = await Promise.all([freshDatabase(), startRedis()]);
  env = {
    PATH: process.env.PATH ?? '',
    LANG: 'en_US.UTF-8',
    MOLI_PORT: '0',
    MOLI_DATABASE_URL: database.appUrl,
    MOLI_DATABASE_LOG_URL: database.logUrl,
    MOLI_DATABASE_AUTH_URL: database.authUrl,
    MOLI_REDIS_URL: redis.url,
    MOLI_OBJECTS_DIR: testFolder('objects'),
    MOLI_UPLOAD_DIR: testFolder('uploads'),
    MOLI_SECRET: 'ab'.repeat(32),
  };
});
afterAll(async () => {
  await Promise.all([database.drop(), redis.stop()]);
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(
  args: readonly string[],
  changes: Record<string, string> = {},
): { child: ChildProcess; ended: Promise<Ended>; output: () => string } {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...env, ...changes } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
  return { child, ended, output: () => stderr };
}

const command = (...args: string[]) => start(args).ended;

/** The prompt of the tenant's only agent. */
async function firstPrompt({ ownerUrl }: TestDatabase, tenantId: string): Promise<string> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  const { rows } = await owner.query('select system_prompt from agents where tenant_id = $1', [tenantId]);
  await owner.end();
  expect(rows).toHaveLength(1);
  return rows[0].system_prompt;
}

describe('commands of the operator', () => {
  it('make the first tenant once, and afterwards only a new link', async () => {
    const first = JSON.parse((await command('bootstrap', '--email', 'boss@example.org', '--tenant', '团队')).stdout);
    expect(first).toMatchObject({
      created: true,
      tenant: { name: '团队' },
      user: { email: 'boss@example.org' },
      key: expect.stringMatching(/^moli_/),
      hasModel: false,
    });
    const again = JSON.parse((await command('bootstrap')).stdout);
    expect(again).toMatchObject({ created: false, tenant: first.tenant, user: first.user, key: null });
    expect(again.signInLink).toMatch(/^http:\/\/localhost:8000\/#sign-in=.{40,}/);
    expect(again.signInLink).not.toBe(first.signInLink);
    const model = { MOLI_MODEL_BASE_URL: 'http://127.0.0.1:9/v1', MOLI_MODEL_NAME: 'm', MOLI_MODEL_API_KEY: 'k' };
    expect(JSON.parse((await start(['bootstrap'], model).ended).stdout).hasModel).toBe(true);
    // It stays in the settings when the configuration names it no more.
    expect(JSON.parse((await command('bootstrap')).stdout).hasModel).toBe(true);
  });

  it('make neither a key nor a link where the output ends in a log', async () => {
    const other = await freshDatabase();
    const urls = {
      MOLI_DATABASE_URL: other.appUrl,
      MOLI_DATABASE_LOG_URL: other.logUrl,
      MOLI_DATABASE_AUTH_URL: other.authUrl,
    };
    const { stdout } = await start(['bootstrap', '--credentials', 'none'], urls).ended;
    expect(JSON.parse(stdout)).toMatchObject({ created: true, key: null, signInLink: null });
    const { stdout: again } = await start(['bootstrap', '--credentials', 'none'], urls).ended;
    expect(JSON.parse(again)).toMatchObject({ created: false, key: null, signInLink: null });
    await other.drop();
  });

  it('wait for the schema, and say what is missing when it does not come', async () => {
    expect(JSON.parse((await command('wait-for-schema', '--seconds', '0')).stdout)).toMatchObject({ missing: [] });
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    await owner.query(`update schema_versions set id = '0002-hidden' where id = '0002-auth'`);
    const { child, ended, output } = start(['wait-for-schema', '--seconds', '60']);
    await expect.poll(output, { timeout: 30_000 }).toContain('not migrated: 0002-auth');
    const late = await command('wait-for-schema', '--seconds', '0');
    await owner.query(`update schema_versions set id = '0002-auth' where id = '0002-hidden'`);
    await owner.end();
    expect(late).toMatchObject({ code: 1, stderr: expect.stringMatching(/not migrated: 0002-auth.*migrate Job/) });
    expect(await ended).toMatchObject({ code: 0 });
    expect(child.exitCode).toBe(0);
  });

  it('wait for a database server that is not there yet, and give up with its error', async () => {
    const gone = { MOLI_DATABASE_OWNER_URL: 'postgres://postgres:x@127.0.0.1:2/postgres' };
    const { code, stderr } = await start(['migrate', '--wait', '1'], gone).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/waiting for the database[\s\S]*ECONNREFUSED/);
  });

  it('test the installation, and name what is missing in both languages', async () => {
    const urls = ['--gateway', 'http://127.0.0.1:2', '--executor', 'http://127.0.0.1:2'];
    const { code, stderr } = await command('selftest', ...urls);
    expect(code).toBe(1);
    expect(stderr).toMatch(/✗ 无法连接网关[\s\S]*✗ The gateway at http:\/\/127\.0\.0\.1:2/);
  });

  it('make keys, tenants and invitations', async () => {
    const key = JSON.parse((await command('key', 'create', '--user', 'boss@example.org', '--name', 'ci')).stdout);
    expect(key).toMatchObject({ role: 'owner', name: 'ci', key: expect.stringMatching(/^moli_/) });
    const tenant = JSON.parse((await command('tenant', 'create', 'Second')).stdout);
    expect(tenant).toMatchObject({ id: expect.stringMatching(/^ten_/), name: 'Second' });
    const invited = JSON.parse(
      (await command('user', 'invite', 'new@example.org', '--tenant', 'Second', '--role', 'admin')).stdout,
    );
    expect(invited).toMatchObject({
      email: 'new@example.org',
      role: 'admin',
      tenantId: tenant.id,
      link: expect.stringContaining('/#invite='),
    });
  });

  it('write the first agent of a tenant in the named language, else in that of the configuration', async () => {
    const made = [
      start(['tenant', 'create', '按配置']),
      start(['tenant', 'create', 'By configuration'], { MOLI_LOCALE: 'en' }),
      start(['tenant', 'create', 'By option', '--locale', 'en']),
      start(['tenant', 'create', '按选项', '--locale', 'zh'], { MOLI_LOCALE: 'en' }),
    ];
    const ids = await Promise.all(made.map(async ({ ended }) => JSON.parse((await ended).stdout).id as string));
    expect(await Promise.all(ids.map((id) => firstPrompt(database, id)))).toEqual([
      expect.stringMatching(/^你是/),
      expect.stringMatching(/^You are/),
      expect.stringMatching(/^You are/),
      expect.stringMatching(/^你是/),
    ]);
    const other = await freshDatabase();
    const urls = {
      MOLI_DATABASE_URL: other.appUrl,
      MOLI_DATABASE_LOG_URL: other.logUrl,
      MOLI_DATABASE_AUTH_URL: other.authUrl,
    };
    const { stdout } = await start(['bootstrap'], { ...urls, MOLI_LOCALE: 'en' }).ended;
    expect(await firstPrompt(other, JSON.parse(stdout).tenant.id)).toMatch(/^You are/);
    await other.drop();
  });

  it.each([
    [['key', 'create', '--user', 'nobody@example.org'], /no user nobody@example\.org/],
    [['key', 'create', '--tenant', 'Nowhere'], /no tenant "Nowhere"/],
    [['user', 'invite', 'not-an-address'], /not an e-mail address/],
    [['user', 'invite', 'a@example.org', '--role', 'king'], /owner, admin, member, viewer/],
    [['tenant', 'create'], /Give a name/],
    [['tenant', 'create', 'Second'], /already/],
    [['tenant', 'create', 'Third', '--locale', 'fr'], /zh, en/],
    [['key', 'create', '--colour', 'red'], /Wrong usage/],
    [['bootstrap', '--credentials', 'some'], /all or none/],
    [['migrate', '--wait', 'long'], /number of seconds/],
    [['selftest', '--gateway', 'here'], /--gateway/],
    [['selftest', '--clean', 'some'], /--clean is all or none/],
    [['dance'], /no such command/],
  ])('%j is refused with a sentence and exit code 2', async (args, sentence) => {
    const { code, stdout, stderr } = await command(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('the process', () => {
  it('names a bad variable, in the language of the terminal, and shows no secret', async () => {
    const { code, stderr } = await start([], { MOLI_SECRET: 'short-secret', LANG: 'zh_CN.UTF-8' }).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/配置有误：MOLI_SECRET/);
    expect(stderr).not.toContain('short-secret');
  });

  it('refuses to serve as a role that row-level security does not bind', async () => {
    const { code, stderr } = await start([], { MOLI_DATABASE_URL: database.ownerUrl }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/not as moli_app/);
  });

  it('serves with its objects in S3, or says which setting is wrong', async () => {
    const objects = await startObjects('s3');
    const { child, ended, output } = start([], objects.env);
    await expect.poll(output, { timeout: 30_000 }).toContain('the gateway listens');
    const port = Number(/"port":(\d+)/.exec(output())?.[1]);
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
    const wrong = { ...objects.env, MOLI_S3_SECRET_KEY: 'not-the-secret', LANG: 'zh_CN.UTF-8' };
    const { code, stderr } = await start([], wrong).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/对象存储不接受访问密钥.*MOLI_S3_SECRET_KEY/);
    expect(stderr).not.toContain('not-the-secret');
    await objects.stop();
  }, 120_000);

  it('sends clients away and answers what is under way when it has time to stop', async () => {
    const { child, ended, output } = start([], { MOLI_SHUTDOWN_SECONDS: '60' });
    await expect.poll(output, { timeout: 30_000 }).toContain('the gateway listens');
    const port = Number(/"port":(\d+)/.exec(output())?.[1]);
    const { key } = JSON.parse((await command('key', 'create')).stdout);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const slow = request({ host: '127.0.0.1', port, path: '/v1/sessions', method: 'POST', headers });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      slow.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    slow.write('{"title":');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = () =>
      new Promise<string | undefined>((resolve, reject) => {
        request({ host: '127.0.0.1', port, path: '/livez', agent }, (response) => {
          response.resume().on('end', () => resolve(response.headers.connection));
        })
          .on('error', reject)
          .end();
      });
    expect(await ask()).toBe('keep-alive');
    child.kill('SIGTERM');
    await expect.poll(output, { timeout: 30_000 }).toContain('the gateway stops');
    expect(await ask()).toBe('close');
    slow.end('"slow"}');
    expect(await answered).toBe(201);
    expect(await ended).toMatchObject({ code: 0 });
    agent.destroy();
  });

  it('stops on SIGTERM in order, with readers and idle connections open', async () => {
    const { child, ended, output } = start([]);
    await expect.poll(output, { timeout: 30_000 }).toContain('the gateway listens');
    const port = Number(/"port":(\d+)/.exec(output())?.[1]);
    const { key } = JSON.parse((await command('key', 'create')).stdout);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const session = await fetch(`http://127.0.0.1:${port}/v1/sessions`, { method: 'POST', headers, body: '{}' });
    const { id } = (await session.json()) as { id: string };
    const stream = await fetch(`http://127.0.0.1:${port}/v1/sessions/${id}/events?after=0`, { headers });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/ws`);
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
    expect(output()).not.toMatch(/"level":"error"/);
  });
});
