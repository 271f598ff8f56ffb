import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { command } from './kubectl.ts';

/**
 * The program that boots a single-node Kubernetes on this machine, with `up`, `load`, `exec`, `env` and `images/`: the folder that
 * `MOLI_CLUSTER_TOOL` names. Undefined where there is none; then the tests need a KUBECONFIG.
 */
export function clusterTool(): string | undefined {
  const { MOLI_CLUSTER_TOOL: folder } = process.env;
  return folder && existsSync(`${folder}/up`) ? resolve(folder) : undefined;
}

/** Boots the node, or finds it up, and puts its kubeconfig and its kubectl and helm into our environment. Compiling it the first time takes long. */
export async function boot(tool: string): Promise<void> {
  await command(`${tool}/up`, [], { timeoutMs: 75 * 60_000 });
  const exports = await command(`${tool}/env`, []);
  const read = (name: string): string => new RegExp(`(?:^|\\s)${name}=(\\S+)`).exec(exports)?.[1] ?? '';
  process.env.KUBECONFIG = read('KUBECONFIG');
  const [bin = ''] = read('PATH').split(':');
  process.env.PATH = `${bin}${delimiter}${process.env.PATH}`;
}

/** Runs a command among the processes of the node. */
export function inNode(tool: string, args: readonly string[], timeoutMs = 30_000): Promise<string> {
  return command(`${tool}/exec`, args, { timeoutMs });
}
