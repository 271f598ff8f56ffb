import { until } from '@moli/testing';
import { expect, test } from 'vitest';
import { Installation } from '../support/installation.ts';
import { get, helm, kubectl } from '../support/kubectl.ts';

const { place } = Installation.shared();

/** Kinds that hold data, and what the cluster itself keeps in every namespace. */
const KEPT =
  /^(persistentvolumeclaim\/|configmap\/kube-root-ca\.crt|serviceaccount\/default|secret\/.*-secrets$|event)/;

async function everythingOf(namespace: string): Promise<string[]> {
  const kinds = (await kubectl(['api-resources', '--verbs=list', '--namespaced', '-o', 'name'])).trim().split('\n');
  const listed = kinds
    .filter((kind) => !/^(events|endpointslices|endpoints|leases|pods\.metrics)/.test(kind))
    .join(',');
  return (await kubectl(['get', listed, '-n', namespace, '-o', 'name', '--ignore-not-found']))
    .trim()
    .split('\n')
    .filter(Boolean);
}

async function clusterWide(): Promise<string[]> {
  const kinds =
    'clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces,priorityclasses,runtimeclasses';
  const { items } = await get<{
    items: { kind: string; metadata: { name: string; labels?: Record<string, string> } }[];
  }>([kinds, '-l', `app.kubernetes.io/instance=${place.release}`]);
  return items.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
}

test('uninstalled, nothing is left but the data and the key to it, and helm says so', {
  timeout: 9 * 60_000,
}, async () => {
  expect((await clusterWide()).length).toBeGreaterThan(0);
  const said = await helm(['uninstall', place.release, '-n', place.namespace, '--wait', '--timeout', '5m'], {
    timeoutMs: 6 * 60_000,
  });
  console.info(said);
  let left: string[] = [];
  await until(
    async () => {
      left = [...(await everythingOf(place.namespace)).filter((name) => !KEPT.test(name)), ...(await clusterWide())];
      return left.length === 0;
    },
    { what: 'everything is gone', timeoutMs: 120_000 },
  ).catch(() => expect(left, 'what is left').toEqual([]));
});
