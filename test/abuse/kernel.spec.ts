import { readFileSync } from 'node:fs';
import { until } from '@moli/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Stack } from '../support/stack.ts';
import { descendants, SANDBOX_UID } from './inventory.ts';
import { LocalGround } from './local-ground.ts';
import { execute, Oracle } from './oracle.ts';
import { systemCallCases } from './system-calls.ts';

const stack = Stack.shared();
let ground: LocalGround;
let oracle: Oracle;
beforeAll(async () => {
  ground = await LocalGround.open();
  oracle = new Oracle(ground);
});
afterAll(() => ground?.close());

systemCallCases(
  () => ground,
  () => oracle.comesBack(),
);

test('case 55: seen from outside, a running program holds no privilege', async () => {
  const run = execute(ground.api, { code: "import time\ntime.sleep(3)\nprint('done')", limits: { wallSeconds: 60 } });
  const executor = await stack.pidOf('executor');
  const status = await until(
    () =>
      descendants(executor)
        .map(({ pid }) => statusOf(pid))
        .find(({ Seccomp }) => Seccomp === '2'),
    { what: 'a program behind its filter', timeoutMs: 30_000, everyMs: 5 },
  );
  expect(status).toMatchObject({ NoNewPrivs: '1', Seccomp: '2' });
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    expect([set, status[set]]).toEqual([set, '0'.repeat(16)]);
  for (const ids of ['Uid', 'Gid']) expect(status[ids]?.split('\t')).toEqual(Array(4).fill(String(SANDBOX_UID)));
  expect(status.Groups?.trim()).toBe('');
  // Its own pid namespace inside of the box's: it is the first process there.
  expect(status.NSpid?.split('\t').length).toBeGreaterThanOrEqual(3);
  expect(status.NSpid?.split('\t').at(-1)).toBe('1');
  expect(await run).toMatchObject({ verdict: 'ok', stdout: 'done\n' });
});

function statusOf(pid: number): Record<string, string> {
  try {
    const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
    return Object.fromEntries(lines.map((line) => line.split(':\t') as [string, string]));
  } catch {
    return {};
  }
}
