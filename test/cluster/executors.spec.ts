import { until } from '@moli/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { execute } from '../abuse/oracle.ts';
import { ClusterGround } from './support/cluster-ground.ts';
import { Installation } from './support/installation.ts';
import { kubectl, podsOf } from './support/kubectl.ts';
import { watchPods } from './support/watch.ts';

const RUNS = 200;

const installation = Installation.shared();
const { place } = installation;
let ground: ClusterGround;
beforeAll(async () => {
  ground = await ClusterGround.open(installation);
  // These programs import nothing: two hundred Pods that load the libraries would take a node of two processors another minute and a half.
  await installation.upgrade({ executor: { replicas: 2 }, sandbox: { profiles: { python: { preload: 'none' } } } });
});
afterAll(async () => {
  await installation.upgrade({});
  await ground?.close();
});

test(`two executors, ${RUNS} runs: each has its own Pod and its own answer`, { timeout: 15 * 60_000 }, async () => {
  const before = await runsByExecutor();
  expect(before.size).toBe(2);
  const watch = await watchPods(place.sandboxNamespace);
  const begun = performance.now();
  const code = 'import os\nprint(os.urandom(16).hex())';
  const rest = Array.from({ length: RUNS }, (_, n) => n);
  const answers: string[] = [];
  const lane = async (): Promise<void> => {
    while (rest.pop() !== undefined) {
      const { verdict, stdout, error } = await execute(ground.api, { code, limits: { wallSeconds: 60 } });
      expect(verdict, error?.message).toBe('ok');
      answers.push(stdout);
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  const seconds = (performance.now() - begun) / 1_000;
  expect(new Set(answers).size).toBe(RUNS);
  // A Pod that served two runs would make these fewer than the runs; the last ones are still on their way out.
  await until(() => watch.deleted.size >= RUNS, { what: 'every Pod that had a run is deleted', timeoutMs: 60_000 });
  await watch.stop();
  const after = await runsByExecutor();
  const served = [...after].map(([name, count]) => count - (before.get(name) ?? 0));
  expect(served.reduce((sum, count) => sum + count, 0)).toBe(RUNS);
  for (const count of served) expect(count).toBeGreaterThan(0);
  console.info(`${RUNS} runs in ${seconds.toFixed(0)} s, ${served.join(' and ')} by executor`);
});

/** `moli_executor_runs_total` of each executor, asked through the API server. */
async function runsByExecutor(): Promise<Map<string, number>> {
  const pods = await podsOf(place.namespace, 'app.kubernetes.io/component=executor');
  const counts = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(async ({ metadata }): Promise<[string, number]> => {
      const path = `/api/v1/namespaces/${place.namespace}/pods/${metadata.name}:8100/proxy/metrics`;
      const text = await kubectl(['get', '--raw', path]);
      const values = [...text.matchAll(/^moli_executor_runs_total\{[^}]*\} (\d+)/gm)].map(([, value]) => Number(value));
      return [metadata.name, values.reduce((sum, value) => sum + value, 0)];
    });
  return new Map(await Promise.all(counts));
}
