import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments, stringify } from 'yaml';

export const CHART = fileURLToPath(new URL('../../charts/moli', import.meta.url));

/** The oldest version that the chart takes; rendering asks no cluster. */
const KUBE_VERSION = '1.34.0';

/** helm 3 in PATH, or the one that the cluster tool compiled; undefined when there is none. */
export function findHelm(): string | undefined {
  const home = process.env.MOLI_CLUSTER_HOME ?? join(homedir(), '.cache/moli-cluster');
  const own = join(home, 'bin/helm');
  return ['helm', own].find((one) => (one === 'helm' || existsSync(one)) && spawnSync(one, ['version']).status === 0);
}

export const HELM = findHelm();
if (!HELM) console.warn('SKIPPED: the tests of the chart need helm 3 in PATH; none was found');

export type Values = Readonly<Record<string, unknown>>;

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind of the API
export type Manifest = any;

/** Runs helm over the chart with these values; answers its output, or throws with what it said. */
function run(args: readonly string[], values: Values): string {
  const command = [...args, '--values', '-'];
  const result = spawnSync(HELM ?? 'helm', command, {
    input: JSON.stringify(values),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (result.status !== 0) throw new Error(result.stderr);
  return result.stdout;
}

interface Rendering {
  readonly release?: string;
  readonly namespace?: string;
  readonly kubeVersion?: string;
}

const rendered = new Map<string, Manifest[]>();

/** Every object that `helm template` gives, once for the same arguments. */
export function template(
  values: Values,
  { release = 'moli', namespace = 'bank', kubeVersion = KUBE_VERSION }: Rendering = {},
): Manifest[] {
  const key = JSON.stringify([values, release, namespace, kubeVersion]);
  const known = rendered.get(key);
  if (known) return known;
  const text = run(['template', release, CHART, '--namespace', namespace, '--kube-version', kubeVersion], values);
  const manifests = parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() ?? [];
  });
  rendered.set(key, manifests);
  return manifests;
}

export function lint(values: Values): string {
  return run(['lint', CHART, '--strict', '--kube-version', KUBE_VERSION], values);
}

export const nameOf = ({ kind, metadata }: Manifest): string => `${kind}/${metadata.name}`;

/** The object of this kind and name; throws with what there is. */
export function find(manifests: readonly Manifest[], name: string): Manifest {
  const found = manifests.find((one) => nameOf(one) === name);
  if (!found) throw new Error(`${name} is not among ${manifests.map(nameOf).join(', ')}`);
  return found;
}

/** What differs from one rendering to the next is replaced: random values, and the hash of the Job's content. */
function steady(manifest: Manifest): Manifest {
  const { kind, metadata } = manifest;
  if (kind === 'Secret' && /-(secrets|executor-tls)$/.test(metadata.name)) {
    return { ...manifest, data: Object.fromEntries(Object.keys(manifest.data).map((key) => [key, 'made once'])) };
  }
  if (kind === 'ConfigMap' && metadata.name === 'moli-sandbox-trust') {
    const { 'executor.crt': authority, ...rest } = manifest.data;
    return {
      ...manifest,
      data: { 'executor.crt': authority.startsWith('-----BEGIN') ? 'a certificate' : authority, ...rest },
    };
  }
  // Files that are compared with their source by another test.
  if (kind === 'ConfigMap' && /-(seccomp|dashboards)$/.test(metadata.name)) {
    return { ...manifest, data: Object.keys(manifest.data) };
  }
  return manifest;
}

export function snapshot(manifests: readonly Manifest[]): string {
  return manifests.map((one) => stringify(steady(one), { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}
