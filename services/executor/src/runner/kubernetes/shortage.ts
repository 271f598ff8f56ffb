import type { V1ContainerStatus, V1Deployment, V1Pod } from '@kubernetes/client-node';
import { deploymentOf } from './pod.checks.ts';

/** States of a container that do not pass by themselves; anything else that waits is on its way. */
const STUCK = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'CreateContainerError',
  'CreateContainerConfigError',
  'RunContainerError',
  'CrashLoopBackOff',
]);
/** The first that fits: what refuses a Pod names the thing that another line is about. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/violates PodSecurity|ValidatingAdmissionPolicy|admission/i, 'a Pod was refused by admission'],
  [/seccomp/i, 'the seccomp profile is missing on the node: see k8s/seccomp'],
  [/ErrImage|ImagePull|InvalidImageName|ImageInspect/, 'the image cannot be pulled'],
  [/exceeded quota/i, 'the quota of the namespace is full'],
  [/^Unschedulable/, 'no node has room for a Pod'],
];

/** Why a pool has fewer Pods ready than it should, for an operator; null when nothing is known to be wrong. */
export function shortageOf(profile: string, deployment: V1Deployment | null, pods: readonly V1Pod[]): string | null {
  const name = deploymentOf(profile);
  if (!deployment) return `Deployment ${name} is not there`;
  const failure = deployment.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  if (failure) return explained(`${failure.reason ?? ''}: ${failure.message ?? ''}`);
  if (deployment.spec?.replicas === 0) return `Deployment ${name} is scaled to 0`;
  for (const pod of pods) {
    const stuck = unscheduled(pod) ?? stuckContainer(pod);
    if (stuck) return explained(`${stuck} (Pod ${pod.metadata?.name})`);
  }
  return null;
}

function unscheduled({ status }: V1Pod): string | null {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return null;
  return `Unschedulable: ${scheduled.message ?? ''}`;
}

function stuckContainer({ status }: V1Pod): string | null {
  const containers: V1ContainerStatus[] = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ];
  for (const { name, state } of containers) {
    const { reason, message } = state?.waiting ?? {};
    if (reason && STUCK.has(reason)) return `${reason} of container ${name}: ${message ?? ''}`;
  }
  return null;
}

function explained(what: string): string {
  const text = what.replaceAll(/\s+/g, ' ').trim().slice(0, 400);
  const hint = HINTS.find(([pattern]) => pattern.test(text))?.[1];
  return hint ? `${hint}: ${text}` : text;
}
