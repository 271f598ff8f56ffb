import { credentials, ServerCredentials } from '@grpc/grpc-js';
import { type AttachResponse, CLIENT_OPTIONS, CourierServiceClient, ProbeOutcome } from '@moli/rpc';
import { startRedis, type TestRedis } from '@moli/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RecordingSink, specOf } from '../runner.contract.ts';
import { CourierLedger } from './courier.ledger.ts';
import { CourierPool } from './courier.pool.ts';
import { KubernetesRunner } from './kubernetes.runner.ts';

const EXECUTORS = 2;
/** Each Pod is with every executor at once, as when a broken stream is not seen: that many claims, and one may win. */
const PODS = 5_000;
/** Pods that are offered at the same time. */
const OFFERED = 50;

const result = JSON.stringify({
  verdict: 'ok',
  exitCode: 0,
  signal: null,
  error: null,
  truncated: { stdout: false, stderr: false },
  skipped: [],
  usage: { wallMs: 1, cpuMs: 1, maxMemoryBytes: 1, outputBytes: 0 },
  timings: { stageMs: 0, runMs: 1, collectMs: 0 },
  strength: 'userns+landlock+seccomp',
});

let server: TestRedis;
let redis: Redis;
const runners: KubernetesRunner[] = [];
const clients: CourierServiceClient[] = [];
/** Runs that each Pod was given. */
const given = new Map<string, number>();

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
  for (let i = 0; i < EXECUTORS; i++) {
    const runner = new KubernetesRunner({
      host: '127.0.0.1',
      port: 0,
      credentials: ServerCredentials.createInsecure(),
      minStrength: 'seccomp',
      forbidden: async () => [],
      ledger: new CourierLedger(redis, `executor-${i}`),
      pool: new CourierPool(),
      pods: () => ({
        start: () => {},
        admit: async ({ hello }) => ({ name: hello.podName, uid: hello.podUid, profile: 'python', ip: '192.0.2.2' }),
        remove: () => {},
        attached: () => {},
        removeLimited: () => true,
        witness: () => async () => false,
        shortage: () => null,
        growing: true,
        close: async () => {},
      }),
    });
    await runner.start();
    runners.push(runner);
    clients.push(new CourierServiceClient(`127.0.0.1:${runner.port}`, credentials.createInsecure(), CLIENT_OPTIONS));
  }
});
afterAll(async () => {
  for (const client of clients) client.close();
  for (const runner of runners) await runner.close();
  redis?.disconnect();
  await server?.stop();
});

/** The courier of a Pod at one executor: proves itself, takes its run, reports, and is done. */
function offer(client: CourierServiceClient, podUid: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = client.attach();
  const blocked = { kind: 'node', target: '192.0.2.1:1', outcome: ProbeOutcome.BLOCKED, detail: 'no answer' };
  call.on('error', () => resolve());
  call.on('end', () => resolve());
  call.on('data', ({ message }: AttachResponse) => {
    if (message?.$case === 'probe') call.write({ message: { $case: 'probed', value: { probes: [blocked] } } });
    if (message?.$case !== 'run') return;
    given.set(podUid, (given.get(podUid) ?? 0) + 1);
    call.write({ message: { $case: 'started', value: { stageMs: 0 } } });
    call.write({ message: { $case: 'report', value: { result, claimMs: 0 } } });
  });
  const hello = { podName: podUid, podUid, profile: 'python', strength: 'seccomp', sandboxFault: '', canaryPort: 1 };
  call.write({ message: { $case: 'hello', value: { ...hello, probes: [blocked] } } });
  return promise;
}

it(`gives ${PODS} Pods that ${EXECUTORS} executors hold at once one run each`, { timeout: 300_000 }, async () => {
  const names = Array.from({ length: PODS }, (_, i) => `pod-${i}`);
  const lane = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      await Promise.all(clients.map((client) => offer(client, name)));
    }
  };
  let left = PODS;
  const done = new AbortController();
  // As many runs as Pods, taken by whichever executor is free: the last ones wait in vain at the other one.
  const claims: number[] = [];
  const work = async (runner: KubernetesRunner): Promise<void> => {
    while (left > 0 && !done.signal.aborted) {
      const spec = { ...specOf('print(1)'), startBefore: Date.now() + 600_000 };
      const report = await runner.run(spec, new RecordingSink(), done.signal);
      if (report.verdict !== 'ok') return;
      claims.push(report.timings.claimMs);
      left--;
    }
  };
  const working = runners.flatMap((runner) => Array.from({ length: OFFERED }, () => work(runner)));
  await Promise.all(Array.from({ length: OFFERED }, lane));
  done.abort();
  await Promise.all(working);
  const counts = [...given.values()];
  expect(counts).toHaveLength(PODS);
  expect(Math.max(...counts)).toBe(1);
  expect(claims).toHaveLength(PODS);
});
