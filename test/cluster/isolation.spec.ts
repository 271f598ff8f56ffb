import { until } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execute } from '../abuse/oracle.ts';
import { ClusterGround } from './support/cluster-ground.ts';
import { Installation } from './support/installation.ts';
import { get, isReady, kubectl, podsOf } from './support/kubectl.ts';

const { place } = Installation.shared();
const PODS = ['-n', place.sandboxNamespace];
let ground: ClusterGround;
beforeAll(async () => {
  ground = await ClusterGround.open(Installation.shared());
});
afterAll(() => ground?.close());

interface Readiness {
  readonly sandbox: { readonly ready: boolean; readonly reason?: string };
}

/** What the executor says of itself; also while it is not ready. */
async function readiness(): Promise<Readiness> {
  const [pod] = (await podsOf(place.namespace, 'app.kubernetes.io/component=executor')).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  const path = `/api/v1/namespaces/${place.namespace}/pods/${pod?.metadata.name}:8100/proxy/readyz`;
  const text = await kubectl(['get', '--raw', path]).catch((error: Error) => error.message);
  const json = /\{.*"sandbox".*\}/s.exec(text)?.[0];
  return json ? (JSON.parse(json) as Readiness) : { sandbox: { ready: false, reason: text } };
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
    const pod = (await podsOf(place.sandboxNamespace)).find(isReady);
    const name = pod?.metadata.name ?? '';
    await kubectl(['label', 'pod', ...PODS, name, 'pod-template-hash=forged', '--overwrite']);
    await until(async () => (await podsOf(place.sandboxNamespace)).every(({ metadata }) => metadata.name !== name), {
      what: 'the relabelled Pod is gone',
      timeoutMs: 60_000,
    });
    expect(await execute(ground.api, { code: 'print(1)' })).toMatchObject({ verdict: 'ok' });
  });
});

describe('a pool that can not fill', () => {
  const deployment = ['deploy/moli-sandbox-python', ...PODS];
  const patch = (container: object): Promise<string> =>
    kubectl([
      'patch',
      ...deployment,
      '--type=strategic',
      '-p',
      JSON.stringify({ spec: { template: { spec: container } } }),
    ]);

  async function reasonMatches(pattern: RegExp): Promise<string> {
    return until(
      async () => {
        const { sandbox } = await readiness();
        return pattern.test(sandbox.reason ?? '') && (sandbox.reason as string);
      },
      { what: `the executor names ${pattern}`, timeoutMs: 120_000 },
    );
  }

  test.each([
    [
      'a seccomp profile that the node does not have',
      {
        containers: [
          { name: 'sandbox', securityContext: { seccompProfile: { localhostProfile: 'profiles/absent.json' } } },
        ],
      },
      /seccomp/i,
    ],
    ['an image that can not be had', { containers: [{ name: 'sandbox', image: '' }] }, /image/i],
  ])('%s', async (_, change, pattern) => {
    const { spec } = await get<{ spec: { template: { spec: { containers: { name: string; image: string }[] } } } }>([
      ...deployment,
    ]);
    const image = spec.template.spec.containers.find(({ name }) => name === 'sandbox')?.image ?? '';
    const broken = JSON.parse(
      JSON.stringify(change).replace('"image":""', `"image":"${image.replace(/:[^:]+$/, ':absent')}"`),
    );
    await patch(broken);
    try {
      await newPods();
      console.info(await reasonMatches(pattern));
    } finally {
      await kubectl(['rollout', 'undo', ...deployment]);
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
