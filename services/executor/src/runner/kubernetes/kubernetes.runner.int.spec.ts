import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { RunLog } from '@moli/queue';
import { serverCredentials } from '@moli/rpc';
import { freePort, SANDBOX_DIR, sandboxPython, startRedis, type TestRedis, testFolder, until } from '@moli/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RecordingSink, runnerContract, specOf } from '../runner.contract.ts';
import { CourierLedger } from './courier.ledger.ts';
import { CourierPool } from './courier.pool.ts';
import { CourierProcesses, type CourierProcessesOptions } from './courier.processes.fixture.ts';
import { addressesOf } from './forbidden.addresses.ts';
import { KubernetesRunner } from './kubernetes.runner.ts';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
});
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

async function makeRunner(
  more: Partial<CourierProcessesOptions> & { minStrength?: string; forbidden?: () => Promise<string[]> } = {},
): Promise<{ runner: KubernetesRunner; pods: CourierProcesses }> {
  // Not the Redis of the tests: on one machine couriers would reach it.
  const { minStrength = 'userns+landlock+seccomp', forbidden = async () => [], ...options } = more;
  const pods = new CourierProcesses({
    folder: testFolder('pods'),
    sandboxDir: SANDBOX_DIR,
    python: await sandboxPython(),
    count: 2,
    ...options,
  });
  const credentials = serverCredentials(pods.certificate());
  const port = await freePort();
  await pods.prepare(`localhost:${port}`);
  const ledger = new CourierLedger(redis, `executor-${port}`);
  const pool = new CourierPool();
  const runner = new KubernetesRunner({
    host: '127.0.0.1',
    port,
    credentials,
    minStrength,
    forbidden,
    ledger,
    pool,
    pods: (onGone) => Object.assign(pods, { onGone }),
  });
  return { runner, pods };
}

runnerContract('kubernetes', async () => (await makeRunner()).runner);

const never = new AbortController().signal;

describe('kubernetes runner', () => {
  let runner: KubernetesRunner;
  let pods: CourierProcesses;
  beforeAll(async () => {
    ({ runner, pods } = await makeRunner({ count: 1 }));
    await runner.start();
    await until(() => runner.status().idle === 1, { what: 'a courier is idle', timeoutMs: 60_000 });
  });
  afterAll(async () => {
    await runner?.close();
  });

  it('uses each Pod once', async () => {
    const before = pods.removed;
    expect((await runner.run(specOf('print(1)'), new RecordingSink(), never)).verdict).toBe('ok');
    expect((await runner.run(specOf('print(2)'), new RecordingSink(), never)).verdict).toBe('ok');
    await until(() => pods.removed === before + 2, { what: 'both Pods are removed', timeoutMs: 20_000 });
  });

  it('says that a sandbox was lost when its Pod dies under a run, and takes another one', async () => {
    const sink = new RecordingSink();
    const begun = new Promise<void>((resolve) => {
      sink.onOutput = () => resolve();
    });
    const running = runner.run(specOf("print('on')\nimport time\ntime.sleep(60)"), sink, never);
    const failed = expect(running).rejects.toMatchObject({ name: 'RunnerError', fault: 'sandbox_lost' });
    await begun;
    for (const process of pods.processes) process.kill('SIGKILL');
    await failed;
    expect((await runner.run(specOf('print(2)'), new RecordingSink(), never)).verdict).toBe('ok');
  });

  it('says that memory was at its limit when the kernel ended the whole container for it', async () => {
    const sink = new RecordingSink();
    const begun = new Promise<void>((resolve) => {
      sink.onOutput = () => resolve();
    });
    const before = pods.removed;
    pods.endedForMemory = true;
    const running = runner.run(specOf("print('on')\nimport time\ntime.sleep(60)"), sink, never);
    await begun;
    for (const process of pods.processes) process.kill('SIGKILL');
    expect(await running).toMatchObject({
      verdict: 'memory_limit',
      signal: 'SIGKILL',
      error: { name: 'MemoryLimit', explanation: { zh: expect.stringContaining('内存超过上限') } },
    });
    pods.endedForMemory = false;
    await until(() => pods.removed > before, { what: 'the Pod is removed', timeoutMs: 20_000 });
  });

  it('goes on with another Pod when one dies while it waits', async () => {
    await until(() => runner.status().idle === 1, { what: 'a courier is idle', timeoutMs: 20_000 });
    const [process] = pods.processes;
    process?.kill('SIGKILL');
    await until(() => runner.status().idle === 0, { what: 'its death is seen', timeoutMs: 20_000 });
    const running = runner.run(specOf('print(3)'), new RecordingSink(), never);
    pods.start();
    expect((await running).verdict).toBe('ok');
  });

  it('keeps what it says to itself: no link, no token in a line of its log', async () => {
    expect(pods.log).toContain('attached to an executor');
    expect(pods.log).not.toMatch(/https?:\/\//);
  });

  it('tells idle couriers to go when it drains', async () => {
    await until(() => runner.status().idle > 0, { what: 'a courier is idle', timeoutMs: 20_000 });
    runner.drain();
    await until(() => runner.slots === 0, { what: 'nobody is held', timeoutMs: 20_000 });
    await until(() => pods.log.includes('draining'), { what: 'they are sent to others', timeoutMs: 20_000 });
    // They live and look for another executor.
    expect(pods.processes.some(({ exitCode, signalCode }) => exitCode === null && signalCode === null)).toBe(true);
  });
});

describe('an executor without couriers', () => {
  it('stands by while another one holds them, and is not ready when nobody does', async () => {
    const { runner } = await makeRunner({ count: 0 });
    await runner.start();
    const report = { runner: 'kubernetes', sandbox: 'none', slots: 1, idle: 1, ready: true, preparing: false };
    await new RunLog(redis).beat('another', report);
    const theirs = new CourierLedger(redis, 'another');
    await theirs.hold('pod-of-another');
    await until(() => runner.status().ready, { what: 'it stands by', timeoutMs: 10_000 });
    expect(runner.status()).toMatchObject({ slots: 0, idle: 0, reason: 'other executors hold the sandboxes' });
    await theirs.release('pod-of-another');
    await until(() => !runner.status().ready, { what: 'nobody holds one', timeoutMs: 10_000 });
    await runner.close();
  });
});

describe('a Pod that must not be used', () => {
  it('is refused with its reason when its sandbox is weaker than it has to be', async () => {
    const { runner } = await makeRunner({ count: 1, minStrength: 'userns+landlock+seccomp+moat' });
    await runner.start();
    await until(() => runner.status().reason?.includes('sandbox_weak'), { what: 'the refusal', timeoutMs: 30_000 });
    expect(runner.status()).toMatchObject({ idle: 0, slots: 0 });
    expect(runner.status().reason).toContain('moat');
    await runner.close();
  });

  it('stops everything when it reached what is forbidden, and all is well once it is replaced', async () => {
    // Something that must be out of reach and is not.
    await using forbidden = await listening();
    const env = { MOLI_FORBIDDEN_TARGETS: `127.0.0.1:${forbidden.port}` };
    const { runner, pods } = await makeRunner({ count: 1, env });
    const replace = pods.removeLimited.bind(pods);
    pods.removeLimited = () => false;
    await runner.start();
    await until(() => runner.status().reason?.includes('isolation'), { what: 'the breach', timeoutMs: 30_000 });
    expect(runner.status()).toMatchObject({ ready: false, slots: 0, idle: 0 });
    expect(runner.status().reason).toContain(`127.0.0.1:${forbidden.port}`);
    const spec = { ...specOf('print(1)'), startBefore: Date.now() + 500 };
    await expect(runner.run(spec, new RecordingSink(), never)).rejects.toMatchObject({
      fault: 'sandbox_unavailable',
      message: expect.stringContaining('isolation is broken'),
    });
    await forbidden[Symbol.asyncDispose]();
    pods.removeLimited = replace;
    await until(() => runner.status().ready && runner.status().idle === 1, { what: 'all is well', timeoutMs: 30_000 });
    expect((await runner.run(specOf('print(2)'), new RecordingSink(), never)).verdict).toBe('ok');
    await runner.close();
  });
});

describe('what only the executor knows', () => {
  it('is tried by each courier before its Pod is offered', async () => {
    const forbidden = () => addressesOf(server.url);
    const { runner, pods } = await makeRunner({ count: 1, forbidden });
    pods.removeLimited = () => false;
    await runner.start();
    await until(() => runner.status().reason?.includes('isolation'), { what: 'the breach', timeoutMs: 30_000 });
    expect(runner.status()).toMatchObject({ ready: false, slots: 0, idle: 0 });
    expect(runner.status().reason).toContain(new URL(server.url).port);
    await runner.close();
  });
});

async function listening(): Promise<AsyncDisposable & { port: number }> {
  const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      if (listener.listening) await new Promise((resolve) => listener.close(resolve));
    },
  };
}
