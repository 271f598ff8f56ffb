import { startRedis, type TestRedis } from '@moli/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { runEventsKey } from './keys.ts';
import { ownerMark, RunLog } from './run.log.ts';

let server: TestRedis;
let redis: Redis;
let runLog: RunLog;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  runLog = new RunLog(redis);
});
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});
beforeEach(() => redis.flushall());

const beat = (id: string, idle: number, preparing: boolean): Promise<void> =>
  runLog.beat(id, { runner: 'kubernetes', sandbox: 'seccomp', slots: idle, idle, ready: true, preparing });

it('tells that a sandbox is being made when every pool is empty and one grows', async () => {
  await beat('a', 0, false);
  await beat('b', 0, true);
  expect(await runLog.announcePreparing('run_1')).toBe(true);
  expect(await runLog.last('run_1')).toEqual({ type: 'stage', stage: 'preparing' });
  expect(await redis.pttl(runEventsKey('run_1'))).toBeGreaterThan(0);
});

it.each<[string, [string, number, boolean][]]>([
  [
    'somebody has one idle',
    [
      ['a', 1, false],
      ['b', 0, true],
    ],
  ],
  ['all are in use and none is made', [['a', 0, false]]],
  ['there is no executor', []],
])('says nothing when %s', async (_what, beats) => {
  for (const one of beats) await beat(...one);
  expect(await runLog.announcePreparing('run_1')).toBe(false);
  expect(await runLog.last('run_1')).toBeNull();
});

it('says nothing of a run that was claimed, and a claim does not say it again', async () => {
  await beat('a', 0, true);
  const preparing = { type: 'stage', stage: 'preparing' } as const;
  expect(await runLog.claim('run_1', ownerMark('a', '1'), 1, preparing)).toBe('claimed');
  expect(await runLog.announcePreparing('run_1')).toBe(false);
  expect(await runLog.announcePreparing('run_2')).toBe(true);
  expect(await runLog.claim('run_2', ownerMark('a', '2'), 1, preparing)).toBe('claimed');
  expect(await redis.xlen(runEventsKey('run_2'))).toBe(1);
});
