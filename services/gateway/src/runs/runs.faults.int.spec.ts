import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@moli/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TenantDb } from '../database/tenant-db.ts';
import type { TestGateway, TestTenant } from '../gateway.fixture.ts';
import { RunBounds } from './run.limits.ts';
import { RunQueue } from './run.queue.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from './runs.fixture.ts';
import { RunsClient } from './runs-client.fixture.ts';

let gateway: TestGateway;
let tenant: TestTenant;
let client: RunsClient;
let redis: Redis;
let executor: TestExecutor | undefined;

beforeAll(async () => {
  gateway = await startRunsGateway();
  tenant = await gateway.newTenant('Faults');
  client = new RunsClient(gateway, tenant.keys.member);
  redis = new Redis(gateway.redis.url);
});
afterEach(async () => {
  // What a failed test left open must not count in the next one.
  for (const { runId } of await gateway.app.get(RunQueue).runLog.open()) {
    await client.ask(`/v1/runs/${runId}/cancel`, 'POST');
  }
});
afterAll(async () => {
  await executor?.stop();
  redis?.disconnect();
  await gateway?.close();
});

/** The executor of the test before, when it still lives. */
async function ensureExecutor(): Promise<TestExecutor> {
  const alive = executor && executor.process.exitCode === null && executor.process.signalCode === null;
  return alive ? executor! : startExecutor(gateway.redis.url);
}

/** The entries of a run's stream so far, as text. */
const streamOf = async (runId: string): Promise<string> =>
  JSON.stringify(await redis.xrange(`run:${runId}:events`, '-', '+'));

const printed = (runId: string, text: string) =>
  until(async () => (await streamOf(runId)).includes(text), { what: `the run printed ${text}`, timeoutMs: 20_000 });

/** Every object below the tenant's artifacts. */
async function artifactFiles(): Promise<string[]> {
  const all = await readdir(gateway.config.objectsDir, { recursive: true, withFileTypes: true });
  return all
    .filter((file) => file.isFile() && file.parentPath.includes(`${tenant.id}/artifacts`))
    .map(({ name }) => name);
}

describe('an executor that is killed', () => {
  const stages: [string, string, string | null][] = [
    ['while the program runs', "print('here', flush=True)\nimport time\ntime.sleep(60)", 'here'],
    [
      'while files are collected',
      "print('here', flush=True)\nfor i in range(40): open(f'{i}.bin', 'wb').write(bytes([i]) * 500_000)",
      'here',
    ],
    ['at the claim', 'import time\ntime.sleep(60)', null],
  ];

  it.each(stages)('%s leaves a verdict and nothing else', async (_, code, marker) => {
    executor = await ensureExecutor();
    const runId = await client.start({ code });
    if (marker) await printed(runId, marker);
    else {
      await until(async () => (await redis.get(`run:${runId}:owner`)) !== null, {
        what: 'it is claimed',
        timeoutMs: 20_000,
      });
    }
    await executor.stop('SIGKILL');
    executor = await ensureExecutor();
    const result = await client.settled(runId);
    expect(['platform_error', 'ok']).toContain(result.verdict);
    if (result.verdict === 'platform_error') {
      expect(result).toMatchObject({ type: 'platform', error: { name: 'executor_lost' }, artifacts: [] });
      expect(result.error?.explanation.zh).toMatch(/\p{Script=Han}/u);
      await until(async () => (await artifactFiles()).length === 0, { what: 'no object is left', timeoutMs: 20_000 });
    }
    expect(await redis.zcard('moli:runs:open')).toBe(0);
    expect((await client.execute({ code: 'print(1)' })).json.stdout).toBe('1\n');
    // The stalled job comes back to the new executor and is not run again.
    const jobs = await redis.keys('bull:runs:active');
    await until(async () => (await redis.llen('bull:runs:active')) === 0, {
      what: `no job is active (${jobs.length})`,
      timeoutMs: 20_000,
    });
    expect((await client.ask(`/v1/runs/${runId}`)).json.verdict).toBe(result.verdict);
    expect(await readdir(join(executor.stateDir, 'outbox'))).toEqual([]);
  });

  it('and nobody takes its place: the run ends all the same', async () => {
    executor = await ensureExecutor();
    const runId = await client.start({ code: "print('here', flush=True)\nimport time\ntime.sleep(60)" });
    await printed(runId, 'here');
    await executor.stop('SIGKILL');
    expect(await client.settled(runId)).toMatchObject({ verdict: 'platform_error', error: { name: 'executor_lost' } });
  });
});

describe('an executor that sleeps and wakes up', () => {
  it('can do nothing any more for a run that was given up', async () => {
    executor = await ensureExecutor();
    const code =
      "print('one', flush=True)\nimport time\ntime.sleep(9)\nprint('two', flush=True)\nopen('late.txt', 'w').write('x')";
    const runId = await client.start({ code });
    await printed(runId, 'one');
    executor.process.kill('SIGSTOP');
    expect(await client.settled(runId)).toMatchObject({ verdict: 'platform_error', error: { name: 'executor_lost' } });
    executor.process.kill('SIGCONT');
    const { port } = executor;
    await until(async () => (await client.execute({ code: 'print(1)' })).json.stdout === '1\n', {
      what: 'it serves again',
      timeoutMs: 20_000,
    });
    const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(await metrics()).not.toMatch(/moli_executor_runs_total\{verdict="(cancelled|platform_error)"\}/);
    expect(await streamOf(runId)).not.toContain('two');
    expect(await artifactFiles()).toEqual([]);
    expect((await client.ask(`/v1/runs/${runId}`)).json.verdict).toBe('platform_error');
  });
});

describe('an executor that is stopped', () => {
  it('waits for what ends soon and ends the rest within five seconds', async () => {
    executor = await ensureExecutor();
    const short = await client.start({ code: "print('a', flush=True)\nimport time\ntime.sleep(1)\nprint('b')" });
    const long = await client.start({ code: "print('a', flush=True)\nimport time\ntime.sleep(60)" });
    await Promise.all([short, long].map((runId) => printed(runId, 'stdout')));
    const { runLog } = gateway.app.get(RunQueue);
    // The one that reported last is the one that lives.
    const [mine] = [...(await runLog.executors())].sort(([, a], [, b]) => a.ageMs - b.ageMs)[0]!;
    await executor.stop('SIGTERM');
    expect(await client.settled(short)).toMatchObject({ verdict: 'ok', stdout: 'a\nb\n' });
    expect(await client.settled(long)).toMatchObject({
      verdict: 'platform_error',
      error: { name: 'executor_stopping' },
      stdout: 'a\n',
    });
    expect((await runLog.executors()).has(mine)).toBe(false);
  });
});

describe('inputs', () => {
  /** Uploads a file and says where the store keeps its bytes. */
  async function upload(content: string): Promise<{ id: string; path: string }> {
    const id = await client.upload('a.csv', content);
    const all = await readdir(gateway.config.objectsDir, { recursive: true, withFileTypes: true });
    const file = all.find((entry) => entry.isFile() && entry.name.startsWith(id));
    return { id, path: join(file!.parentPath, file!.name) };
  }

  it.each([
    [
      'altered',
      async (path: string) =>
        writeFile(
          path,
          (await readFile(path)).map((byte, i) => (i === 2 ? byte ^ 1 : byte)),
        ),
    ],
    ['longer', (path: string) => appendFile(path, 'x')],
    ['shorter', async (path: string) => writeFile(path, (await readFile(path)).subarray(0, -1))],
  ])('that became %s in the store never reach a program', async (_, damage) => {
    executor = await ensureExecutor();
    const { id, path } = await upload('a,b\n1,2\n');
    await damage(path);
    const { json } = await client.execute({ code: "print(open('a.csv').read())", files: [{ id }] });
    expect(json).toMatchObject({ verdict: 'platform_error', stdout: '' });
    expect(json.error.name).toMatch(/^input_(altered|unavailable)$/);
    expect(json.error.explanation.zh).toContain('没有执行');
    expect((await client.execute({ code: 'print(1)' })).json.verdict).toBe('ok');
  });
});

describe('the queue', () => {
  it('is bounded exactly, says so, and takes runs again when there is room', async () => {
    await executor?.stop();
    const bounds = gateway.app.get(RunBounds) as { maxOpen: number };
    const before = bounds.maxOpen;
    bounds.maxOpen = 5;
    try {
      const flood = async (from: RunsClient, count: number) => {
        const starts = Array.from({ length: count }, () =>
          from.execute({ code: 'print(1)' }, { prefer: 'respond-async' }),
        );
        const answers = await Promise.all(starts);
        return {
          accepted: answers.filter(({ status }) => status === 202),
          refused: answers.filter(({ status }) => status === 429),
        };
      };
      const stranger = async () => new RunsClient(gateway, (await gateway.newTenant('Other')).keys.member);
      // As many as there are places left: the others keep some, each fewer than the one before.
      const { accepted, refused } = await flood(client, 12);
      expect([accepted.length, refused.length]).toEqual([3, 9]);
      expect(refused[0]?.json).toMatchObject({
        code: 'queue_full',
        used: 3,
        detail: expect.stringContaining('other teams'),
      });
      expect((await flood(await stranger(), 3)).accepted).toHaveLength(1);
      expect((await flood(await stranger(), 3)).accepted).toHaveLength(1);
      const last = await flood(await stranger(), 1);
      expect(last.refused[0]?.json).toMatchObject({ code: 'queue_full', limit: 5, used: 5 });
      expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
      executor = await ensureExecutor();
      for (const { json } of accepted) expect((await client.settled(json.runId)).verdict).toBe('ok');
      expect((await client.execute({ code: 'print(2)' })).json.stdout).toBe('2\n');
    } finally {
      bounds.maxOpen = before;
    }
  });

  it('lets a small tenant in between the runs of a large one', async () => {
    await executor?.stop();
    const small = new RunsClient(gateway, (await gateway.newTenant('Small')).keys.member);
    const large = await Promise.all(Array.from({ length: 30 }, () => client.start({ code: 'print(1)' })));
    const one = await small.start({ code: 'print(2)' });
    executor = await ensureExecutor();
    await small.settled(one);
    const others = await Promise.all([...large.map((runId) => client.settled(runId))]);
    const finished = await client.ask('/v1/runs?limit=100');
    const times = new Map(
      finished.json.items.map((run: { runId: string; finishedAt: string }) => [run.runId, run.finishedAt]),
    );
    const mine = (await small.ask('/v1/runs')).json.items[0].finishedAt as string;
    const earlier = large.filter((runId) => (times.get(runId) as string) < mine).length;
    // First in the fair order after one run of the other tenant; two run at once.
    expect(earlier).toBeLessThanOrEqual(4);
    expect(others.every(({ verdict }) => verdict === 'ok')).toBe(true);
  });

  it('ends a run that waited too long without starting it', async () => {
    await executor?.stop();
    const runId = await client.start({ code: "print('never')" });
    // Its time is over now.
    await redis.zadd('moli:runs:open', 'XX', Date.now() - 1_000, `${tenant.id} ${runId}`);
    expect(await client.settled(runId)).toMatchObject({
      verdict: 'queue_rejected',
      type: 'rejected',
      error: { name: 'expired' },
    });
    executor = await ensureExecutor();
    expect((await client.execute({ code: 'print(1)' })).json.verdict).toBe('ok');
    expect(await gateway.app.get(RunQueue).depth()).toBe(0);
  });

  it('never gives one run to two executors', async () => {
    const { runLog } = gateway.app.get(RunQueue);
    const claims = await Promise.all(Array.from({ length: 20 }, (_, i) => runLog.claim('run_x', `x:e${i}:t`, 1)));
    expect(claims.filter((claim) => claim === 'claimed')).toHaveLength(1);
    expect(claims.filter((claim) => claim === 'taken')).toHaveLength(19);
    const owner = (await runLog.owner('run_x'))!;
    expect(await runLog.append('run_x', 'x:other:t', [{ type: 'stage', stage: 'running' }])).toBe(false);
    expect(await runLog.append('run_x', owner, [{ type: 'stage', stage: 'running' }])).toBe(true);
    await redis.del('run:run_x:owner', 'run:run_x:events');
  });
});

describe('a verdict that nobody stored', () => {
  it('is stored by another gateway', async () => {
    const { runLog } = gateway.app.get(RunQueue);
    executor = await ensureExecutor();
    const { json } = await client.execute({ code: 'print(5)' });
    // As if the gateway had died after the executor's answer and before its own.
    await gateway.app
      .get(TenantDb)
      .as(tenant.id, (tx) =>
        tx.updateTable('runs').set({ verdict: null, outcome: null }).where('id', '=', json.runId).execute(),
      );
    await runLog.admit({ tenantId: tenant.id, runId: json.runId, deadline: Date.now() + 60_000 }, 1_000);
    expect(await client.settled(json.runId)).toMatchObject({ verdict: 'ok', stdout: '5\n' });
    expect(await redis.zcard('moli:runs:open')).toBe(0);
  });
});

describe('a flood of output', () => {
  it('comes in order and whole, and the executor does not grow', async () => {
    await executor?.stop();
    executor = await ensureExecutor();
    const pid = executor.process.pid!;
    const peak = async () => Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
    await client.execute({ code: "print('warm')" });
    const before = await peak();
    const lines = 800_000;
    const code = `import sys\nfor i in range(0, ${lines}, 1000): sys.stdout.write(''.join(f'{n:062d}\\n' for n in range(i, i + 1000)))`;
    const runId = await client.start({
      code,
      limits: { outputBytes: 64 * 1024 * 1024, wallSeconds: 120, cpuSeconds: 120 },
    });
    let carry = '';
    let next = 0;
    let total = 0;
    for await (const { event, data } of client.events(runId)) {
      if (event !== 'stdout') continue;
      total += data.text.length;
      const whole = (carry + data.text).split('\n');
      carry = whole.pop()!;
      for (const line of whole) if (Number(line) !== next++) throw new Error(`line ${next - 1} is ${line}`);
    }
    expect(next).toBe(lines);
    expect(total).toBe(lines * 63);
    const result = await client.settled(runId);
    expect(result).toMatchObject({ verdict: 'ok', truncated: { stdout: true } });
    expect(result.stdout.length).toBeLessThan(1_100_000);
    expect(result.usage.outputBytes).toBe(lines * 63);
    // Garbage between two collections counts too; less than the flood itself means that nothing is kept of it.
    expect((await peak()) - before).toBeLessThan(40 * 1024 * 1024);
  }, 180_000);
});
