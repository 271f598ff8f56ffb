import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testFolder } from '@moli/testing';
import { parseAllDocuments } from 'yaml';
import type { Place } from './installation.ts';
import { apply, helm, kubectl } from './kubectl.ts';

const CHART = fileURLToPath(new URL('../../../charts/moli', import.meta.url));

/** What tests change of the chart's Deployment; the API server knows its type. */
// biome-ignore lint/suspicious/noExplicitAny: objects of the API
type Manifest = any;

export interface Files {
  readonly cert: string;
  readonly key: string;
}

/**
 * The sandbox Pods of the chart in a namespace of their own, with an executor that is this process: what is tested is the runner, and everything
 * around it can be put wrong.
 */
export class OwnPool {
  readonly namespace = `moli-runner-${randomBytes(3).toString('hex')}`;
  readonly #place: Place;
  readonly #folder = testFolder('pool');

  constructor(place: Place) {
    this.#place = place;
  }

  /** A certificate for this machine as Pods see it, made by openssl. */
  certificate(): Files {
    const files = { cert: join(this.#folder, 'cert.pem'), key: join(this.#folder, 'key.pem') };
    const how = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=executor', '-addext', `subjectAltName=IP:${this.#place.host}`];
    execFileSync('openssl', [...how, ...subject, '-keyout', files.key, '-out', files.cert], { stdio: 'ignore' });
    return files;
  }

  /** Makes namespace, account, policies and the pool, whose couriers dial `port` of this machine. */
  async install(port: number, replicas: number, { cert }: Files): Promise<void> {
    const metadata = { namespace: this.namespace };
    const deployment = await this.#deployment();
    const [courier] = deployment.spec.template.spec.containers;
    // Names of the release are not known here, and the tests bring their own object store.
    const replaced = new Set([
      'MOLI_EXECUTOR_ADDRESS',
      'MOLI_FORBIDDEN_TARGETS',
      'MOLI_OBJECTS_URL',
      'MOLI_OBJECTS_CA',
    ]);
    courier.env = [
      ...courier.env.filter(({ name }: { name: string }) => !replaced.has(name)),
      { name: 'MOLI_EXECUTOR_ADDRESS', value: `${this.#place.host}:${port}` },
    ];
    await apply(
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: this.namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
      },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...metadata, name: 'moli-sandbox' } },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...metadata, name: 'moli-sandbox-trust' },
        data: { 'executor.crt': readFileSync(cert, 'utf8') },
      },
      ...this.policies(),
      { ...deployment, metadata: { ...deployment.metadata, ...metadata }, spec: { ...deployment.spec, replicas } },
    );
  }

  /** Nothing in, and out only to this machine. */
  policies(): Manifest[] {
    const about = (name: string) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name, namespace: this.namespace },
    });
    const machine = { to: [{ ipBlock: { cidr: `${this.#place.host}/32` } }] };
    return [
      { ...about('deny'), spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } },
      { ...about('courier'), spec: { podSelector: {}, policyTypes: ['Egress'], egress: [machine] } },
    ];
  }

  async remove(): Promise<void> {
    await kubectl(['delete', 'namespace', this.namespace, '--wait=false', '--ignore-not-found']);
  }

  async #deployment(): Promise<Manifest> {
    const args = ['template', this.#place.release, CHART, '-n', this.#place.namespace, '-f', '-'];
    const text = await helm([...args, '--kube-version', '1.34.0', '--show-only', 'templates/sandbox-deployment.yaml'], {
      input: JSON.stringify(this.#place.values),
    });
    return parseAllDocuments(text)
      .map((document) => document.toJS() as Manifest)
      .find((object) => object?.kind === 'Deployment');
  }
}
