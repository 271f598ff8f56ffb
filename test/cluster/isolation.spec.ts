import { until } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execute } from '../abuse/oracle.ts';
import { ClusterGround } from './support/cluster-ground.ts';
import { Installation } from './support/installation.ts';
import { type Forward, forward, get, isReady, kubectl, podsOf } from './support/kubectl.ts';

const { place } = Installation.shared();
const PODS = ['-n', place.sandboxNamespace];
let ground: ClusterGround;
let executor: Forward;
beforeAll(async () => {
  ground = await ClusterGround.open(Installation.shared());
  executor = await forward(place.namespace, `deploy/${place.release}-executor`, 8100);
});
afterAll(async () => {
  executor?.close();
  await ground?.close();
});

interface Readiness {
  readonly sandbox: { readonly ready: boolean; readonly reason?: string };
}

/** What the executor says of itself, also while it is not ready: the API server's own proxy hides the body of such an answer. */
async function readiness(): Promise<Readiness> {
  const response = await fetch(`http://127.0.0.1:${executor.port}/readyz`).catch((error: Error) => error);
  return response instanceof Response
    ? ((await response.json()) as Readiness)
    : { sandbox: { ready: false, reason: response.message } };
}

const ready = (): Promise<boolean> =>
  until(async () => (await readiness()).sandbox.ready, { what: 'the executor is ready', timeoutMs: 120_000 });

async function newPods(): Promise<void> {
  await kubectl(['delete', 'pods', ...PODS, '--all', '--grace-period=0', '--force']);
}

describe('network policy', () => {
  test('without it the executor serves nothing and says what a sandbox could reach; with it again it serves', async () => {
    const policies = await get<{ items: { metadata: Record<string, unknown> }[] }>(['networkpolicies', ...PODS]);
    expect(policies.items.length).toBeGreaterThan(0);
    await kubectl(['delete', 'networkpolicies', ...PODS, '--all']);
    try {
      await newPods();
      const reason = await until(
        async () => {
          const { sandbox } = await readiness();
          return !sandbox.ready && /reach/i.test(sandbox.reason ?? '') && sandbox.reason;
        },
        { what: 'the executor refuses', timeoutMs: 120_000 },
      );
      console.info(reason);
      const run = await ground.api.request('/v1/code/execute', {
        method: 'POST',
        headers: { 'content-type': 'application/json', prefer: 'respond-async' },
        body: JSON.stringify({ code: 'print(1)' }),
      });
      if (run.status === 202) {
        const { runId } = (await run.json()) as { runId: string };
        expect(await ground.api.call('GET', `/v1/runs/${runId}`)).toMatchObject({ state: 'queued' });
        await ground.api.call('POST', `/v1/runs/${runId}/cancel`);
      } else expect(run.status).toBe(503);
    } finally {
      const bare = policies.items.map(({ metadata, ...rest }) => ({
        ...rest,
        metadata: {
          name: metadata.name,
          namespace: metadata.namespace,
          labels: metadata.labels,
          annotations: metadata.annotations,
        },
      }));
      await kubectl(['apply', '-f', '-'], {
        input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: bare }),
      });
    }
    await newPods();
    await ready();
    expect(await execute(ground.api, { code: 'print(6 * 7)' })).toMatchObject({ verdict: 'ok', stdout: '42\n' });
  });
});

describe('who may be a courier', () => {
  test('a Pod that was relabelled by hand is not used and goes', async () => {
    await ready();
    const { metadata } = await until(async () => (await podsOf(place.sandboxNamespace)).find(isReady), {
      what: 'a Pod is ready',
      timeoutMs: 60_000,
    });
    const { name } = metadata;
    await kubectl(['label', 'pod', ...PODS, name, 'pod-template-hash=forged', '--overwrite']);
    await until(async () => (await podsOf(place.sandboxNamespace)).every((pod) => pod.metadata.name !== name), {
      what: 'the relabelled Pod is gone',
      timeoutMs: 60_000,
    });
    expect(await execute(ground.api, { code: 'print(1)' })).toMatchObject({ verdict: 'ok' });
  });
});

describe('a pool that can not fill', () => {
  const deployment = ['deploy/moli-sandbox-python', ...PODS];
  const patch = (container: object): Promise<string> => {
    // A rolling update would keep Pods of the old kind.
    const strategy = { $retainKeys: ['type'], type: 'Recreate' };
    const spec = { strategy, template: { spec: { initContainers: [{ name: 'sandbox', ...container }] } } };
    return kubectl(['patch', ...deployment, '--type=strategic', '-p', JSON.stringify({ spec })]);
  };

  async function reasonMatches(pattern: RegExp): Promise<string> {
    return until(
      async () => {
        const { sandbox } = await readiness();
        return pattern.test(sandbox.reason ?? '') && (sandbox.reason as string);
      },
      { what: `the executor names ${pattern}`, timeoutMs: 120_000 },
    );
  }

  /** The image of the pool with a tag that nobody has. */
  async function absentImage(): Promise<string> {
    const { spec } = await get<{ spec: { template: { spec: { initContainers: { name: string; image: string }[] } } } }>(
      deployment,
    );
    const image = spec.template.spec.initContainers.find(({ name }) => name === 'sandbox')?.image ?? '';
    return image.replace(/:[^:]+$/, ':absent');
  }

  const absentProfile = { type: 'Localhost', localhostProfile: 'profiles/absent.json' };
  test.each([
    [
      'a seccomp profile that the node does not have',
      async () => ({ securityContext: { seccompProfile: absentProfile } }),
      /seccomp/i,
    ],
    ['an image that can not be had', async () => ({ image: await absentImage() }), /image/i],
  ])('%s', async (_, change, pattern) => {
    await patch(await change());
    try {
      await newPods();
      console.info(await reasonMatches(pattern));
    } finally {
      await kubectl(['rollout', 'undo', ...deployment]);
      await kubectl(['patch', ...deployment, '-p', JSON.stringify({ spec: { strategy: { type: 'RollingUpdate' } } })]);
    }
    await newPods();
    await ready();
  });

  test('a namespace whose quota is full', async () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'nothing', namespace: place.sandboxNamespace },
      spec: { hard: { pods: '0' } },
    };
    await kubectl(['apply', '-f', '-'], { input: JSON.stringify(quota) });
    try {
      await newPods();
      console.info(await reasonMatches(/quota/i));
    } finally {
      await kubectl(['delete', 'resourcequota', 'nothing', ...PODS]);
    }
    await ready();
    expect(await execute(ground.api, { code: 'print(1)' })).toMatchObject({ verdict: 'ok' });
  });
});
