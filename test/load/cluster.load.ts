import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@moli/testing';
import setup from '../cluster/support/global-cluster.ts';
import { Installation } from '../cluster/support/installation.ts';
import { get, isReady, kubectl, podsOf } from '../cluster/support/kubectl.ts';
import { ourRun } from './code-runs.load.ts';
import { GROUP_BY, PRINT } from './jobs.ts';
import { digits, figuresOf, printSeries, printTable } from './statistics.ts';

/** Runs that are on at the same time while the rate is measured: more than warm Pods, so that the pool is always short. */
const LANES = 8;
const RATE_SECONDS = 60;

/** Runs in warm Pods of a real cluster (G6): the node and the release of the cluster tests, with one executor. */
export async function warmPods(rounds: number): Promise<void> {
  const teardown = await setup();
  try {
    const installation = Installation.shared();
    await quiet(installation);
    const writes = await hits(installation, rounds * 20);
    await coldStarts(installation, rounds);
    await rate(installation);
    printTable('Writes to the API server a run, pool hits alone (G6)', ['call', 'a run'], writes);
    await memoryOfPods(installation);
  } finally {
    await teardown();
  }
}

/** The whole floor of the pool waits for runs. */
async function quiet({ place }: Installation): Promise<void> {
  const { min } = (place.values.sandbox as { profiles: { python: { min: number } } }).profiles.python;
  await until(async () => (await idleCouriers(place.namespace)) >= min, {
    what: 'the pool is full',
    timeoutMs: 180_000,
  });
}

/** One run at a time, each of which finds a warm Pod. Answers the writes by call. */
async function hits(installation: Installation, count: number): Promise<string[][]> {
  const { url, key, namespace } = installation.place;
  const stages = new Map<string, number[]>();
  const note = (stage: string, ms: number): unknown => stages.set(stage, [...(stages.get(stage) ?? []), ms]);
  const before = await apiWrites(namespace);
  for (let n = 0; n < count; n += 1) {
    const begun = performance.now();
    const { timings } = await ourRun({ url, key }, n % 2 === 0 ? PRINT : GROUP_BY);
    note('HTTP request to answer', performance.now() - begun);
    note('request to job frame: queue and claim (G6)', timings.queueMs! + timings.claimMs!);
    for (const [stage, ms] of Object.entries(timings)) note(stage, ms);
    // Slower than the pool is refilled.
    await quiet(installation);
  }
  await sleep(5_000);
  const after = await apiWrites(namespace);
  printSeries(`${count} runs that found a warm Pod, print(1) and a group-by in turn (G6)`, 'ms', stages);
  return [...after].map(([call, writes]) => [call, digits((writes - (before.get(call) ?? 0)) / count)]);
}

/** From the request to the answer when there is no Pod at all. */
async function coldStarts(installation: Installation, count: number): Promise<void> {
  const { url, key, namespace, sandboxNamespace } = installation.place;
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    await quiet(installation);
    await kubectl(['delete', 'pods', '-n', sandboxNamespace, '--all', '--grace-period=0', '--force']);
    // Their couriers go on for a moment.
    await until(async () => (await idleCouriers(namespace)) === 0, { what: 'the pool is empty', timeoutMs: 30_000 });
    const begun = performance.now();
    await ourRun({ url, key }, PRINT);
    times.push(performance.now() - begun);
  }
  await quiet(installation);
  printSeries('Cold start: print(1) when the pool is empty', 'ms', new Map([['request to answer', times]]));
}

/** How many single-use Pods the cluster makes in the long run. */
async function rate({ place: { url, key } }: Installation): Promise<void> {
  const end = performance.now() + RATE_SECONDS * 1_000;
  const times: number[] = [];
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      const begun = performance.now();
      await ourRun({ url, key }, PRINT);
      times.push(performance.now() - begun);
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: LANES }, lane));
  const seconds = (performance.now() - begun) / 1_000;
  const { p50, p99 } = figuresOf(times);
  printTable(
    `${LANES} callers without a pause: runs, each with a Pod of its own`,
    ['runs a second', 'p50 ms', 'p99 ms'],
    [[digits(times.length / seconds), digits(p50), digits(p99)]],
  );
}

interface PodStats {
  readonly podRef: { readonly namespace: string };
  readonly containers: readonly { readonly name: string; readonly memory?: { readonly workingSetBytes?: number } }[];
}

/** What the kubelet counts of each idle Pod. */
async function memoryOfPods(installation: Installation): Promise<void> {
  await quiet(installation);
  // The kubelet measures every ten seconds or so.
  await sleep(30_000);
  const { items } = await get<{ items: { metadata: { name: string } }[] }>(['nodes']);
  const megabytes = new Map<string, number[]>();
  for (const { metadata } of items) {
    const { pods } = JSON.parse(
      await kubectl(['get', '--raw', `/api/v1/nodes/${metadata.name}/proxy/stats/summary`]),
    ) as { pods: PodStats[] };
    for (const { podRef, containers } of pods) {
      if (podRef.namespace !== installation.place.sandboxNamespace) continue;
      for (const { name, memory } of containers) {
        const bytes = memory?.workingSetBytes;
        if (bytes) megabytes.set(name, [...(megabytes.get(name) ?? []), bytes / 1e6]);
      }
    }
  }
  printSeries('Memory of a warm Pod by container, working set', 'MB', megabytes);
}

/** The text of `/metrics` of the one executor, asked through the API server. */
async function executorMetrics(namespace: string): Promise<string> {
  const pods = await podsOf(namespace, 'app.kubernetes.io/component=executor');
  const pod = pods.find(isReady);
  if (!pod) throw new Error('no executor is ready');
  return kubectl(['get', '--raw', `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}:8100/proxy/metrics`]);
}

async function idleCouriers(namespace: string): Promise<number> {
  const pattern = /^moli_executor_couriers\{[^}]*state="idle"[^}]*\} (\d+)/m;
  return Number(pattern.exec(await executorMetrics(namespace))?.[1] ?? 0);
}

async function apiWrites(namespace: string): Promise<Map<string, number>> {
  const text = await executorMetrics(namespace);
  return new Map(
    [...text.matchAll(/^moli_executor_api_writes_total\{call="([^"]+)"[^}]*\} (\d+)/gm)].map(([, call, count]) => [
      call!,
      Number(count),
    ]),
  );
}
