import { fileURLToPath } from 'node:url';
import { ApiClient } from '../../../infra/launcher/demo/client.ts';
import { get, helm, kubectl } from './kubectl.ts';

const CHART = fileURLToPath(new URL('../../../charts/moli', import.meta.url));

/** An installed release and how to get in; plain JSON, so that it goes from the global setup to the tests. */
export interface Place {
  readonly release: string;
  readonly namespace: string;
  readonly sandboxNamespace: string;
  /** Where the gateway is reached from this machine. */
  readonly url: string;
  /** API key of the first tenant's owner. */
  readonly key: string;
  /** The address of this machine as Pods see it, and the port at which the release looks for its model server. */
  readonly host: string;
  readonly modelPort: number;
  /** Folder of the program that runs the node; absent on a cluster that was given. */
  readonly tool?: string;
  readonly values: Values;
}

export type Values = Readonly<Record<string, unknown>>;

/** The release that the global setup installed. */
export class Installation {
  readonly place: Place;

  constructor(place: Place) {
    this.place = place;
  }

  static shared(): Installation {
    const json = process.env.MOLI_TEST_CLUSTER;
    if (!json) throw new Error('the release of the global setup is missing');
    return new Installation(JSON.parse(json) as Place);
  }

  api(key = this.place.key): ApiClient {
    return new ApiClient(this.place.url, key);
  }

  /** Runs a command of the gateway in one of its Pods; answers the JSON that it prints. */
  async gateway<T>(...args: readonly string[]): Promise<T> {
    const { namespace, release } = this.place;
    const target = `deploy/${release}-gateway`;
    return JSON.parse(
      await kubectl([
        'exec',
        '-n',
        namespace,
        target,
        '-c',
        'gateway',
        '--',
        '/usr/local/bin/node',
        'services/gateway/dist/main.js',
        ...args,
      ]),
    ) as T;
  }

  /** A new tenant with a key of its own. */
  async otherTenant(name: string): Promise<{ id: string; api: ApiClient; key: string }> {
    const { id } = await this.gateway<{ id: string }>('tenant', 'create', name);
    const { key } = await this.gateway<{ key: string }>('key', 'create', '--tenant', id);
    return { id, key, api: this.api(key) };
  }

  /** A value of a Secret of the release. */
  async secret(name: string): Promise<Record<string, string>> {
    const { data } = await get<{ data: Record<string, string> }>(['secret', name, '-n', this.place.namespace]);
    return Object.fromEntries(
      Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** Changes values and waits until every Deployment has rolled out. */
  async upgrade(values: Values, options: { wait?: boolean } = {}): Promise<void> {
    await install(this.place.release, this.place.namespace, merge(this.place.values, values), options);
  }
}

/** `helm upgrade --install` of the chart in this checkout. */
export async function install(
  release: string,
  namespace: string,
  values: Values,
  { wait = true }: { wait?: boolean } = {},
): Promise<void> {
  const args = ['upgrade', '--install', release, CHART, '-n', namespace, '--create-namespace', '-f', '-'];
  if (wait) args.push('--wait', '--timeout', '8m');
  await helm(args, { input: JSON.stringify(values), timeoutMs: 10 * 60_000 });
}

/** Values over values, maps joined, everything else replaced. */
export function merge(base: Values, over: Values): Values {
  const joined: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const before = joined[name];
    joined[name] = isMap(value) && isMap(before) ? merge(before, value) : value;
  }
  return joined;
}

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);
