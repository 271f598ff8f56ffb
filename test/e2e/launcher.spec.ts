import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testFolder } from '@moli/testing';
import { expect, test } from 'vitest';
import { Stack } from '../support/stack.ts';

const MOLI = fileURLToPath(new URL('../../moli', import.meta.url));

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the launcher to its end, whatever its exit code. */
function moli(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(MOLI, [...args], { env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

const shared = Stack.shared();
const data = ['--data', shared.place.dataDir];

test('a second up on the same folder says so and changes nothing', async () => {
  const before = await shared.status();
  const second = await moli(['up', '--detach', ...data]);
  expect(second).toMatchObject({ code: 0, stdout: '' });
  expect(second.stderr).toContain('already running');
  expect(second.stderr).toContain(shared.place.url);
  expect((await shared.status()).pid).toBe(before.pid);
});

test('a busy port names the process that has it', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const refused = await moli(['up', '--detach', '--data', testFolder('busy'), '--port', String(port)]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`Port ${port} is in use by`);
  expect(refused.stderr).toContain(`pid ${process.pid}`);
  server.close();
});

test('keys, tenants and invitations: the result alone on standard output', async () => {
  const key = await moli(['key', 'create', '--name', 'from the launcher', ...data]);
  expect(key.stdout).toMatch(/^moli_\S+\n$/);
  const me = await shared.api(key.stdout.trim()).call<{ role: string }>('GET', '/v1/me');
  expect(me.role).toBe('admin');
  const invitation = await moli(['user', 'invite', 'colleague@example.org', '--role', 'viewer', ...data]);
  expect(invitation.stdout).toMatch(/^inv_[0-9a-f]+\nhttp\S+#invite=\S+\n$/);
  const wrong = await moli(['user', 'invite', 'nobody', ...data], { LANG: 'zh_CN.UTF-8' });
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toMatch(/邮箱/);
});

test('status, logs and usage: exit codes and languages', async () => {
  expect(await moli(['status', ...data])).toMatchObject({ code: 0 });
  const nothing = await moli(['status', '--json', '--data', testFolder('nothing')]);
  expect([nothing.code, JSON.parse(nothing.stdout).running]).toEqual([1, false]);
  expect((await moli(['logs', 'gateway', ...data])).stdout).toContain('the gateway listens');
  expect(await moli(['logs', 'nonsense', ...data])).toMatchObject({ code: 2, stdout: '' });
  expect((await moli(['up', '--nonsense'], { LANG: 'zh_CN.UTF-8' })).stderr).toContain('用法');
});

test('secrets are closed to others and on no command line', async () => {
  const path = join(shared.place.dataDir, 'secrets.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const secrets = Object.values(JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>);
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine);
  for (const secret of secrets) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
});

test('a missing value of the model is named; down leaves no process', async () => {
  const stack = await Stack.start({ env: { MOLI_MODEL_NAME: '' } });
  const { dataDir, port } = stack.place;
  await stack.stop();
  writeFileSync(join(dataDir, '.env'), 'api_base=http://127.0.0.1:9/v1\napi_key=k\n');
  const again = await moli(['up', '--detach', '--data', dataDir, '--port', String(port)], {
    MOLI_STOP_WITH_PID: String(process.pid),
  });
  expect(again.stderr).toContain('MOLI_MODEL_NAME missing');
  const pids = (await stack.status()).services.map((service) => service.pid);
  await stack.stop();
  expect(pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  expect(readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandLine(name).includes(dataDir))).toEqual([]);
  expect(existsSync(join(dataDir, 'launcher.lock'))).toBe(false);
  expect((await moli(['down', '--data', dataDir])).stderr).toContain('Nothing is running');
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
