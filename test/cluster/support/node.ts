import { containersOf, podsOf } from './kubectl.ts';
import { inNode } from './tool.ts';

/** Kills a container of a Pod with SIGKILL from the node, as a machine that runs out of memory would. */
export async function killContainer(tool: string, namespace: string, pod: string, container: string): Promise<void> {
  const found = (await podsOf(namespace)).find(({ metadata }) => metadata.name === pod);
  const id =
    found &&
    containersOf(found)
      .find(({ name }) => name === container)
      ?.containerID?.split('//')[1];
  if (!id) throw new Error(`${pod} has no running container ${container}`);
  await inNode(tool, ['ctr', '-n', 'k8s.io', 'tasks', 'kill', '-s', 'SIGKILL', id]);
}

/** Kills a program of the node itself; its supervisor starts it again within a second or two. */
export async function killOnNode(tool: string, program: string): Promise<void> {
  await inNode(tool, ['sh', '-c', `kill -9 $(pidof ${program})`]);
}
