import { fork } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { testFolder } from '@moli/testing';
import { expect, test } from 'vitest';
import {
  findProcess,
  freePort,
  isAlive,
  type ProcessId,
  portHolder,
  startPostgresServer,
  startProcess,
} from './index.ts';

test('servers end when the process that started them is killed', async () => {
  const child = fork(join(import.meta.dirname, 'servers.fixture.ts'), [testFolder('killed')], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const servers = await new Promise<ProcessId[]>((resolve) =>
    child.once('message', (message) => resolve(message as ProcessId[])),
  );
  expect(servers.map(isAlive)).toEqual([true, true]);
  child.kill('SIGKILL');
  await expect.poll(() => servers.map(isAlive), { timeout: 10_000 }).toEqual([false, false]);
});

test('a cluster that is there is started again with its data and its password', async () => {
  const dir = testFolder('again');
  const options = { dir, password: 'p w/d', settings: { fsync: 'off' }, output: () => {} };
  const first = await startPostgresServer({ ...options, port: await freePort() });
  await first.stop();
  const second = await startPostgresServer({ ...options, port: await freePort() });
  expect(second.process.id.pid).not.toBe(first.process.id.pid);
  await second.stop();
});

test('postgres does not run as root', async () => {
  const server = await startPostgresServer({
    dir: testFolder('user'),
    password: 'x',
    settings: { fsync: 'off' },
    port: await freePort(),
    output: () => {},
  });
  const { statSync } = await import('node:fs');
  expect(statSync(`/proc/${server.process.id.pid}`).uid).not.toBe(0);
  await server.stop();
});

test('a busy port names the process that has it', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  expect(portHolder(port)).toMatchObject({ pid: process.pid });
  await new Promise((resolve) => server.close(resolve));
  expect(portHolder(port)).toBeUndefined();
});

test('a process that ignores the signal is killed after its grace', async () => {
  const deaf = Promise.withResolvers<void>();
  const stubborn = await startProcess({
    command: 'sh',
    args: ['-c', 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'],
    env: { PATH: process.env.PATH },
    deathSignal: 'SIGKILL',
    output: () => deaf.resolve(),
  });
  await deaf.promise;
  expect(await stubborn.stop('SIGTERM', 300)).toEqual({ code: null, signal: 'SIGKILL' });
  expect(findProcess(stubborn.id.pid)).toBeUndefined();
});
