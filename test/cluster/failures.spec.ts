import { until } from '@moli/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunResult } from '../../services/gateway/src/runs/runs.schema.ts';
import { execute } from '../abuse/oracle.ts';
import { ClusterGround } from './support/cluster-ground.ts';
import { Installation } from './support/installation.ts';
import { isReady, kubectl, podsOf } from './support/kubectl.ts';
import { killContainer, killOnNode } from './support/node.ts';

const installation = Installation.shared();
const { place } = installation;
const { tool = '' } = place;
const SLEEP = "import time\nprint('on', flush=True)\ntime.sleep(60)";

let ground: ClusterGround;
beforeAll(async () => {
  ground = await ClusterGround.open(installation);
});
afterAll(() => ground?.close());

async function startRun(code: string, wallSeconds = 30): Promise<string> {
  const response = await ground.api.request('/v1/code/execute', {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ code, limits: { wallSeconds } }),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { runId: string }).runId;
}

const stateOf = (runId: string): Promise<RunResult> => ground.api.call('GET', `/v1/runs/${runId}`);

function settled(runId: string): Promise<RunResult> {
  const finished = async () => {
    const result = await stateOf(runId);
    return result.state === 'finished' && result;
  };
  return until(finished, { what: `${runId} has a verdict`, timeoutMs: 90_000 });
}

const running = (runId: string): Promise<boolean> =>
  until(async () => (await stateOf(runId)).state === ('running' as string), {
    what: `${runId} runs`,
    timeoutMs: 90_000,
  });

/** Sandboxes that wait for work. */
async function warmPods(): Promise<string[]> {
  return (await podsOf(place.sandboxNamespace)).filter(isReady).map(({ metadata }) => metadata.name);
}

/** Does something to the Pod of a run that is going on; answers the run's result. */
async function podDuring(runId: string, act: (pod: string) => Promise<unknown>): Promise<RunResult> {
  await running(runId);
  await act(await podOf(runId));
  return settled(runId);
}

/** Which Pod has a run is the executor's knowledge alone, and its courier's. */
async function podOf(runId: string): Promise<string> {
  for (const { metadata } of await podsOf(place.sandboxNamespace)) {
    const args = ['logs', '-n', place.sandboxNamespace, metadata.name, '-c', 'courier', '--tail=50'];
    const said = await kubectl(args).catch(() => '');
    if (said.includes(runId)) return metadata.name;
  }
  throw new Error(`no courier says that it has ${runId}`);
}

/** Everything is as it should be again, and no Pod that was used is left. */
async function recovers(): Promise<void> {
  await until(async () => (await ground.leftBehind()).length === 0 && (await warmPods()).length >= 3, {
    what: 'the pool is whole again',
    timeoutMs: 90_000,
  });
  expect(await execute(ground.api, { code: 'print(6 * 7)' })).toMatchObject({ verdict: 'ok', stdout: '42\n' });
}

describe.runIf(tool !== '')('what dies', () => {
  beforeEach(recovers);

  test('courier killed with a run: the run has a verdict, its Pod goes', async () => {
    const result = await podDuring(await startRun(SLEEP), (pod) =>
      killContainer(tool, place.sandboxNamespace, pod, 'courier'),
    );
    expect(result).toMatchObject({ verdict: 'platform_error' });
    expect(result.error?.explanation.zh).toMatch(/\p{Script=Han}/u);
    await recovers();
  });

  test('sandbox killed with a run: the run has a verdict, its Pod goes', async () => {
    const result = await podDuring(await startRun(SLEEP), (pod) =>
      killContainer(tool, place.sandboxNamespace, pod, 'sandbox'),
    );
    expect(result).toMatchObject({ verdict: 'platform_error' });
    await recovers();
  });

  test('Pod deleted by an operator with a run: the run has a verdict', async () => {
    const result = await podDuring(await startRun(SLEEP), (pod) =>
      kubectl(['delete', 'pod', '-n', place.sandboxNamespace, pod, '--grace-period=0', '--force']),
    );
    expect(result).toMatchObject({ verdict: 'platform_error' });
    await recovers();
  });

  test('executor killed with runs in every stage: each has one verdict, and 10 s after its return no used Pod is left', async () => {
    const codes = [
      "open('big.bin', 'wb').write(bytes(30 << 20))",
      SLEEP,
      "for n in range(30): open(f'{n}.bin', 'wb').write(bytes([n]) * 100_000)",
      'print(1)',
    ];
    const runIds = await Promise.all([...codes, ...codes].map((code) => startRun(code, 5)));
    await Promise.any(runIds.map(running));
    const used = new Set(await warmPods());
    const [executor] = await podsOf(place.namespace, 'app.kubernetes.io/component=executor');
    await killContainer(tool, place.namespace, executor?.metadata.name ?? '', 'executor');
    await until(
      async () => isReady((await podsOf(place.namespace, 'app.kubernetes.io/component=executor'))[0] as never),
      {
        what: 'the executor is back',
        timeoutMs: 60_000,
      },
    );
    const results = await Promise.all(runIds.map(settled));
    for (const result of results) {
      expect(['ok', 'platform_error', 'timeout_wall']).toContain(result.verdict);
      for (const artifact of result.artifacts) {
        expect((await ground.api.bytes(`/v1/artifacts/${artifact.id}/content`)).byteLength).toBe(artifact.bytes);
      }
    }
    console.info(`executor killed: ${results.map(({ verdict }) => verdict).join(' ')}; ${used.size} Pods then`);
    await recovers();
    expect(await ground.books.query('select id from runs where verdict is null')).toEqual([]);
  });

  test('API server killed: runs in warm Pods go on, and used Pods go once it is back', async () => {
    const runId = await startRun("import time\ntime.sleep(2)\nprint('through')");
    await running(runId);
    await killOnNode(tool, 'kube-apiserver');
    // Held couriers need no API server.
    expect(await execute(ground.api, { code: 'print(1)' })).toMatchObject({ verdict: 'ok', stdout: '1\n' });
    expect(await settled(runId)).toMatchObject({ verdict: 'ok', stdout: 'through\n' });
    await until(
      () =>
        kubectl(['get', '--raw', '/readyz']).then(
          () => true,
          () => false,
        ),
      { what: 'the API server is back', timeoutMs: 60_000 },
    );
    await recovers();
  });
});
