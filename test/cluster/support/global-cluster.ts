import { freePort, until } from '@moli/testing';
import { buildImages } from './images.ts';
import { Installation, install, type Place } from './installation.ts';
import { forward, get, kubectl, podsOf } from './kubectl.ts';
import { boot, clusterTool } from './tool.ts';

const RELEASE = 'moli';
const NAMESPACE = 'moli-test';
/** This machine as the Pods of the tool's node see it. */
const HOST = '10.250.0.254';

/**
 * Vitest's global setup of the cluster kind: a node where there is none, images, and one release for all files, made from the chart as an operator
 * would. With a KUBECONFIG of your own, `MOLI_IMAGE_REGISTRY` and `MOLI_IMAGE_TAG` say where its images are, and `MOLI_TEST_HOST` how Pods reach this
 * machine, where the scripted model server runs.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const tool = process.env.KUBECONFIG ? undefined : clusterTool();
  if (tool) await said('the cluster is up', () => boot(tool));
  await kubectl(['version']).catch((error: Error) => {
    throw new Error(`No cluster answers; set KUBECONFIG. ${error.message}`);
  });
  const images = tool
    ? await said('images are built and loaded', () => buildImages(tool))
    : { registry: process.env.MOLI_IMAGE_REGISTRY ?? '', tag: process.env.MOLI_IMAGE_TAG ?? 'latest', eval: {} };
  const modelPort = await freePort();
  const host = process.env.MOLI_TEST_HOST ?? HOST;
  const values = {
    image: { registry: images.registry, tag: images.tag, pullPolicy: 'IfNotPresent' },
    eval: { enabled: true, ...images.eval },
    model: { baseUrl: `http://${host}:${modelPort}/v1`, name: 'scripted-test', apiKey: 'test-key' },
    // Two of each are what some tests ask for; the node of these tests has two processors.
    gateway: { replicas: 1 },
    executor: { replicas: 1 },
    admin: { email: 'owner@moli.test' },
    // Kubernetes waits for half of the grace period before a namespace with Pods is gone.
    sandbox: { profiles: { python: { min: 3, max: 6 } }, terminationGracePeriodSeconds: 60 },
  };
  await said('the release is installed', () => install(RELEASE, NAMESPACE, values));
  const place = await arrive({ host, modelPort, values, ...(tool ? { tool } : {}) });
  process.env.MOLI_TEST_CLUSTER = JSON.stringify(place);
  return async () => {
    delete process.env.MOLI_TEST_CLUSTER;
  };
}

/** The way in: the Service's address where the node is on this machine, else a forwarded port. */
async function arrive(rest: Pick<Place, 'host' | 'modelPort' | 'values' | 'tool'>): Promise<Place> {
  const service = await get<{ spec: { clusterIP: string; ports: { port: number }[] } }>([
    'service',
    `${RELEASE}-gateway`,
    '-n',
    NAMESPACE,
  ]);
  const url = rest.tool
    ? `http://${service.spec.clusterIP}:${service.spec.ports[0]?.port}`
    : `http://127.0.0.1:${(await forward(NAMESPACE, `service/${RELEASE}-gateway`, 8000)).port}`;
  const place = {
    release: RELEASE,
    namespace: NAMESPACE,
    sandboxNamespace: `${NAMESPACE}-sandbox`,
    url,
    key: '',
    ...rest,
  };
  await until(async () => (await podsOf(place.sandboxNamespace)).length > 0, {
    what: 'a sandbox Pod',
    timeoutMs: 60_000,
  });
  const { key } = await new Installation(place).gateway<{ key: string }>('key', 'create', '--name', 'cluster tests');
  return { ...place, key };
}

/** Says on standard error what was done and how long it took. */
async function said<T>(what: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await work();
  process.stderr.write(`${what} (${((performance.now() - begun) / 1000).toFixed(1)} s)\n`);
  return result;
}
