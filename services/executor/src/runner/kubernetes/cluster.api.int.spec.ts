import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { freePort, until } from '@moli/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ClusterApi } from './cluster.api.ts';
import { whyNot } from './cluster.fault.ts';
import { PodGate } from './pod.gate.ts';
import { PodRemover } from './pod.remover.ts';

/** An API server that answers what a test says, and notes what it was asked. */
let answers: { status: number; body: object }[];
let asked: { method: string; path: string; body: string }[];
const server = createServer(async (request, response) => {
  asked.push({ method: request.method ?? '', path: request.url ?? '', body: await bodyOf(request) });
  const { status, body } = answers.length > 1 ? answers.shift()! : answers[0]!;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
let api: ClusterApi;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  api = apiAt((server.address() as AddressInfo).port);
});
afterAll(() => server.close());
beforeEach(() => {
  asked = [];
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

function apiAt(port: number): ClusterApi {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'u', token: 't' },
  );
  return new ClusterApi(config, 'sandboxes');
}

const failure = (status: number) => ({
  status,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status },
});
const done = { status: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } };
const pod = { name: 'p', uid: 'uid-1' };

it('deletes exactly one Pod, at once', async () => {
  answers = [done];
  await api.deletePod(pod);
  expect(asked[0]).toMatchObject({ method: 'DELETE', path: expect.stringContaining('/namespaces/sandboxes/pods/p?') });
  expect(JSON.parse(asked[0]!.body)).toMatchObject({ gracePeriodSeconds: 0, preconditions: { uid: 'uid-1' } });
});

it.each([404, 409])('takes %i for a deletion that was done before', async (status) => {
  answers = [failure(status)];
  await expect(api.deletePod(pod)).resolves.toBeUndefined();
});

it('goes on deleting while the API server has too many requests, and says so', async () => {
  answers = [failure(429), failure(429), failure(500), done];
  const remover = new PodRemover(api);
  remover.remove(pod);
  await until(() => remover.fault?.includes('429'), { what: 'the fault is named', timeoutMs: 20_000 });
  await until(() => asked.length === 4 && remover.fault === null, { what: 'it is deleted', timeoutMs: 10_000 });
  await remover.close(100);
});

it('sets a size with one patch', async () => {
  answers = [{ status: 200, body: { kind: 'Scale', apiVersion: 'autoscaling/v1' } }];
  await api.scale('moli-sandbox-python', 4);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({ method: 'PATCH', path: expect.stringContaining('moli-sandbox-python/scale') });
  expect(JSON.parse(asked[0]!.body)).toEqual({ spec: { replicas: 4 } });
});

it('lets nobody in while nobody can be asked', async () => {
  const nowhere = apiAt(await freePort());
  const gate = new PodGate(nowhere, { namespace: 'sandboxes', serviceAccount: 's', profiles: new Set() });
  const hello = {
    podName: 'p',
    podUid: 'u',
    profile: 'python',
    strength: '',
    sandboxFault: '',
    probes: [],
    canaryPort: 1,
  };
  const attempt = gate.admit({ token: 'x', address: '10.0.0.1', hello });
  await expect(attempt).rejects.toMatchObject({ reason: 'api_unavailable' });
  const fault: unknown = await nowhere.pods().catch((error: unknown) => error);
  expect(whyNot(fault)).toMatch(/does not answer \(ECONNREFUSED\)/);
  answers = [failure(403)];
  expect(whyNot(await api.pods().catch((error: unknown) => error))).toMatch(/lacks a permission/);
});
