import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { freePort, until } from '@moli/testing';

export interface CommandOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** Runs a program to its end and answers its standard output; throws with what it said on standard error. */
export function command(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const limits = { timeout: options.timeoutMs ?? 120_000, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, [...args], limits, (error, stdout, stderr) => {
      if (error)
        reject(new Error(`${program} ${args.join(' ').slice(0, 200)}: ${(stderr || error.message).slice(-3_000)}`));
      else resolve(stdout);
    });
    child.stdin?.end(options.input);
  });
}

export const kubectl = (args: readonly string[], options?: CommandOptions): Promise<string> =>
  command('kubectl', args, options);

export const helm = (args: readonly string[], options?: CommandOptions): Promise<string> =>
  command('helm', args, options);

export async function get<T>(args: readonly string[]): Promise<T> {
  return JSON.parse(await kubectl(['get', ...args, '-o', 'json'])) as T;
}

export async function apply(...objects: readonly unknown[]): Promise<void> {
  await kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }) });
}

interface ContainerStatus {
  readonly name: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly state: Readonly<Record<string, { readonly reason?: string; readonly message?: string }>>;
}

/** What tests read of a Pod. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    /** Sidecars are among these. */
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

export async function podsOf(namespace: string, selector = ''): Promise<Pod[]> {
  const { items } = await get<{ items: Pod[] }>(['pods', '-n', namespace, ...(selector ? ['-l', selector] : [])]);
  return items;
}

export function isReady(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    (pod.status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')
  );
}

/** A door to a port of a Pod, Service or Deployment that no network policy stands in the way of. */
export interface Forward {
  readonly port: number;
  close(): void;
}

/** `kubectl port-forward` on a free loopback port; it goes on until it is closed, and starts again when its Pod is replaced. */
export async function forward(namespace: string, target: string, port: number): Promise<Forward> {
  const local = await freePort();
  let child: ChildProcess;
  let closed = false;
  const start = (): void => {
    child = spawn('kubectl', ['port-forward', '-n', namespace, target, `${local}:${port}`], { stdio: 'ignore' });
    child.once('exit', () => {
      if (!closed) setTimeout(start, 200);
    });
  };
  start();
  const close = (): void => {
    closed = true;
    child.kill();
  };
  process.once('exit', close);
  await until(() => connects(local), { what: `the way to ${target}`, timeoutMs: 30_000 });
  return { port: local, close };
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
