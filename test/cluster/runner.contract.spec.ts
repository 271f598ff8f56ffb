import { randomUUID } from 'node:crypto';
import { KubeConfig } from '@kubernetes/client-node';
import { freePort, startRedis, type TestRedis, until } from '@moli/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExecutorConfig } from '../../services/executor/src/config.ts';
import { ClusterApi } from '../../services/executor/src/runner/kubernetes/cluster.api.ts';
import type { KubernetesRunner } from '../../services/executor/src/runner/kubernetes/kubernetes.runner.ts';
import { kubernetesRunner } from '../../services/executor/src/runner/kubernetes/make.runner.ts';
import { PodGate } from '../../services/executor/src/runner/kubernetes/pod.gate.ts';
import { runnerContract } from '../../services/executor/src/runner/runner.contract.ts';
import { Installation } from './support/installation.ts';
import { get, kubectl, type Pod, podsOf } from './support/kubectl.ts';
import { OwnPool } from './support/own-pool.ts';

const { place } = Installation.shared();

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

interface Made {
  readonly pool: OwnPool;
  readonly port: number;
  /** Another executor at the same place, once this one is closed. */
  again(id?: string): KubernetesRunner;
}

async function make(replicas: number): Promise<Made> {
  const pool = new OwnPool(place);
  const port = await freePort();
  const files = pool.certificate();
  await pool.install(port, replicas, files);
  const config = readExecutorConfig({
    MOLI_EXECUTOR_PORT: '1',
    MOLI_EXECUTOR_HOST: '0.0.0.0',
    MOLI_REDIS_URL: server.url,
    MOLI_RUNNER: 'kubernetes',
    MOLI_SANDBOX_NAMESPACE: pool.namespace,
    MOLI_SANDBOX_PROFILES: JSON.stringify({ python: { min: replicas, max: replicas } }),
    MOLI_COURIER_PORT: String(port),
    MOLI_COURIER_TLS_CERT: files.cert,
    MOLI_COURIER_TLS_KEY: files.key,
  });
  return { pool, port, again: (id = randomUUID()) => kubernetesRunner(config, redis, id) };
}

const pools: OwnPool[] = [];
afterAll(async () => {
  for (const pool of pools) await pool.remove();
});

runnerContract(
  'kubernetes, in Pods',
  async () => {
    const { pool, again } = await make(3);
    pools.push(pool);
    return again();
  },
  { host: place.host },
);

describe('a pool of one’s own', () => {
  let made: Made;
  let runner: KubernetesRunner;
  beforeAll(async () => {
    made = await make(2);
    pools.push(made.pool);
    runner = made.again();
    await runner.start();
    await until(() => runner.status().idle === 2, { what: 'two couriers', timeoutMs: 90_000 });
  });
  afterAll(async () => {
    await runner?.close();
  });

  it('deletes a Pod that was relabelled by hand while it waits', async () => {
    const { namespace } = made.pool;
    const [pod] = await podsOf(namespace);
    const { name = '', uid = '' } = pod?.metadata ?? {};
    await kubectl(['label', 'pod', '-n', namespace, name, 'moli.dev/profile=other', '--overwrite']);
    await until(async () => (await podsOf(namespace)).every(({ metadata }) => metadata.uid !== uid), {
      what: 'the relabelled Pod is deleted',
      timeoutMs: 30_000,
    });
    await until(() => runner.status().idle === 2, { what: 'its successor is here', timeoutMs: 60_000 });
  });

  it('says why the pool is empty, and goes on when it is not any more', async () => {
    const { namespace } = made.pool;
    const deployment = 'deploy/moli-sandbox-python';
    const [image] = (
      await get<{ spec: { template: { spec: { containers: { image: string }[] } } } }>([deployment, '-n', namespace])
    ).spec.template.spec.containers;
    // A rolling update would keep a Pod of the old kind.
    const strategy = { $retainKeys: ['type'], type: 'Recreate' };
    await kubectl(['patch', '-n', namespace, deployment, '-p', JSON.stringify({ spec: { strategy } })]);
    await kubectl(['set', 'image', '-n', namespace, deployment, 'courier=localhost/moli/missing:none']);
    await kubectl(['delete', 'pods', '-n', namespace, '--all', '--grace-period=0', '--force']);
    await until(() => runner.status().reason?.includes('the image cannot be pulled'), {
      what: 'the missing image is named',
      timeoutMs: 60_000,
    });
    await kubectl(['set', 'image', '-n', namespace, deployment, `courier=${image?.image}`]);
    await until(() => runner.status().idle > 0, { what: 'a courier', timeoutMs: 90_000 });
  });

  describe('who shows a token', () => {
    let gate: PodGate;
    let pod: Pod;
    let other: Pod;
    beforeAll(async () => {
      const { namespace } = made.pool;
      const kube = new KubeConfig();
      kube.loadFromDefault();
      const profiles = new Set(['python']);
      gate = new PodGate(new ClusterApi(kube, namespace), { namespace, serviceAccount: 'moli-sandbox', profiles });
      await until(() => runner.status().idle === 2, { what: 'two couriers', timeoutMs: 90_000 });
      const pods = (await podsOf(namespace)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      [pod, other] = pods as [Pod, Pod];
    });

    /** A token as the API server gives it out; `create token` wants at least ten minutes. */
    async function tokenOf(about: Pod | null, audience = 'moli-executor'): Promise<string> {
      const args = ['create', 'token', 'moli-sandbox', '-n', made.pool.namespace, `--audience=${audience}`];
      const { name, uid } = about?.metadata ?? {};
      if (about) args.push('--bound-object-kind=Pod', `--bound-object-name=${name}`, `--bound-object-uid=${uid}`);
      return (await kubectl(args)).trim();
    }

    function attempt(token: string, more: { address?: string; podName?: string } = {}): ReturnType<PodGate['admit']> {
      const { name, uid } = pod.metadata;
      const hello = { podName: more.podName ?? name, podUid: uid, profile: 'python', strength: '', sandboxFault: '' };
      const address = more.address ?? pod.status.podIP ?? '';
      return gate.admit({ token, address, hello: { ...hello, probes: [], canaryPort: 9_444 } });
    }

    it('is the Pod that the token was made for', async () => {
      await expect(attempt(await tokenOf(pod))).resolves.toMatchObject({ name: pod.metadata.name, profile: 'python' });
    });

    it('is refused with a forged token, one for another audience, and one without a Pod', async () => {
      const good = await tokenOf(pod);
      await expect(attempt('')).rejects.toMatchObject({ reason: 'token_missing' });
      await expect(attempt(`${good.slice(0, -8)}AAAAAAAA`)).rejects.toMatchObject({ reason: 'token_rejected' });
      await expect(attempt(await tokenOf(pod, 'vault'))).rejects.toMatchObject({ reason: 'token_audience' });
      await expect(attempt(await tokenOf(null))).rejects.toMatchObject({ reason: 'token_unbound' });
    });

    it('is refused with the token of another Pod, from another address, and under another name', async () => {
      await expect(attempt(await tokenOf(other))).rejects.toMatchObject({ reason: 'other_pod' });
      await expect(attempt(await tokenOf(pod), { podName: 'nobody' })).rejects.toMatchObject({ reason: 'other_pod' });
      const address = other.status.podIP ?? '';
      await expect(attempt(await tokenOf(pod), { address })).rejects.toMatchObject({ reason: 'wrong_address' });
    });

    it('is refused with the token of a Pod that is gone', async () => {
      const token = await tokenOf(other);
      await kubectl(['delete', 'pod', '-n', made.pool.namespace, other.metadata.name, '--grace-period=0', '--force']);
      await expect(attempt(token)).rejects.toMatchObject({
        reason: expect.stringMatching(/token_rejected|pod_missing/),
      });
    });
  });
});
