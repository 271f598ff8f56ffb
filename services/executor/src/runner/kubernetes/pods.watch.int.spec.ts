import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig, type V1ContainerState, type V1Pod } from '@kubernetes/client-node';
import { until } from '@moli/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ClusterApi } from './cluster.api.ts';
import { endedForMemory } from './memory.death.ts';
import { PodsWatch } from './pods.watch.ts';

/** An API server with one Pod, whose watch sends what a test tells it. */
let streams: ServerResponse[];
let reads: number;
let server: ReturnType<typeof createServer>;
let watch: PodsWatch;

const REF = { name: 'p', uid: 'uid-1' };

function podWith(state: V1ContainerState, resourceVersion: string, uid = REF.uid): V1Pod {
  return {
    metadata: { name: 'p', namespace: 'sandboxes', uid, resourceVersion },
    status: { initContainerStatuses: [{ name: 'sandbox', restartCount: 0, state } as never] },
  };
}

function send(type: 'MODIFIED' | 'DELETED', object: V1Pod): void {
  for (const stream of streams) stream.write(`${JSON.stringify({ type, object })}\n`);
}

beforeEach(async () => {
  streams = [];
  reads = 0;
  server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (new URL(request.url ?? '', 'http://x').searchParams.has('watch')) {
      response.flushHeaders();
      streams.push(response);
      return;
    }
    reads++;
    const items = [podWith({ running: {} as never }, '1')];
    response.end(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true },
    { name: 'u', token: 't' },
  );
  watch = new PodsWatch(new ClusterApi(config, 'sandboxes'));
  void watch.start();
  await until(() => streams.length > 0 && watch.find(REF), { what: 'the watch is open', timeoutMs: 20_000 });
});
afterEach(async () => {
  await watch.close();
  server.closeAllConnections();
  server.close();
});

const look = (timeoutMs = 30_000) => watch.look(REF, (pod) => endedForMemory(pod, 0), timeoutMs);

it.each([
  ['OOMKilled', true],
  ['Error', false],
])('tells how a sandbox ended once its Pod says %s, without a read', async (reason, ended) => {
  const looking = look();
  send('MODIFIED', podWith({ running: {} as never }, '2'));
  send('MODIFIED', podWith({ terminated: { exitCode: 137, reason } }, '3'));
  expect(await looking).toBe(ended);
  // Known already.
  expect(await look()).toBe(ended);
  expect(reads).toBe(1);
});

it('says nothing of a Pod that leaves, is another one, or does not change', async () => {
  expect(await look(50)).toBeNull();
  expect(await watch.look({ ...REF, uid: 'uid-0' }, () => true, 30_000)).toBeNull();
  const looking = look();
  send('DELETED', podWith({ running: {} as never }, '2'));
  expect(await looking).toBeNull();
  expect(await look()).toBeNull();
});
