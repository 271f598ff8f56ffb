import type { V1Pod, V1TokenReviewStatus } from '@kubernetes/client-node';
import type { Hello } from '@moli/rpc';
import { AttachRefusal } from './attach.refusal.ts';

/** Audience of the projected token: a token made for anything else, the API server included, is of no use here. */
export const TOKEN_AUDIENCE = 'moli-executor';
export const PROFILE_LABEL = 'moli.dev/profile';
/** Set by the Deployment controller on its ReplicaSets and their Pods; also the end of a ReplicaSet's name. */
const TEMPLATE_HASH_LABEL = 'pod-template-hash';
const POD_NAME_EXTRA = 'authentication.kubernetes.io/pod-name';
const POD_UID_EXTRA = 'authentication.kubernetes.io/pod-uid';

/** The sandbox Pods that this installation makes. */
export interface SandboxIdentity {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly profiles: ReadonlySet<string>;
}

/** A Pod as the API server vouches for it. */
export interface PodRef {
  readonly name: string;
  readonly uid: string;
  readonly profile: string;
  readonly ip: string;
}

export const deploymentOf = (profile: string): string => `moli-sandbox-${profile}`;

/** Which Pod the token was made for, and that it is a sandbox Pod's. Throws AttachRefusal. */
export function boundPod(review: V1TokenReviewStatus, identity: SandboxIdentity): { name: string; uid: string } {
  if (!review.authenticated) {
    // The API server says a wrong audience in words only.
    const about = review.error ?? 'not authenticated';
    throw new AttachRefusal(
      /audience/i.test(about) ? 'token_audience' : 'token_rejected',
      `its token was rejected: ${about}`,
    );
  }
  if (!review.audiences?.includes(TOKEN_AUDIENCE)) {
    throw new AttachRefusal('token_audience', 'its token was made for another audience');
  }
  const account = `system:serviceaccount:${identity.namespace}:${identity.serviceAccount}`;
  if (review.user?.username !== account) {
    throw new AttachRefusal('wrong_account', `its token is that of ${review.user?.username ?? 'nobody'}`);
  }
  const [name] = review.user.extra?.[POD_NAME_EXTRA] ?? [];
  const [uid] = review.user.extra?.[POD_UID_EXTRA] ?? [];
  if (!name || !uid) throw new AttachRefusal('token_unbound', 'its token is not bound to a Pod');
  return { name, uid };
}

/** The Pod is one of a pool, untouched, alive, and the one that dials. Throws AttachRefusal. */
export function checkPod(pod: V1Pod, hello: Hello, peerAddress: string, identity: SandboxIdentity): PodRef {
  const { metadata, spec, status } = pod;
  const name = metadata?.name ?? '';
  const uid = metadata?.uid ?? '';
  if (name !== hello.podName || uid !== hello.podUid) {
    throw new AttachRefusal('other_pod', `it says it is ${hello.podName}, and its token is that of ${name}`);
  }
  if (metadata?.deletionTimestamp) throw new AttachRefusal('pod_terminating', 'its Pod is being deleted');
  if (spec?.serviceAccountName !== identity.serviceAccount) {
    throw new AttachRefusal('wrong_account', `its Pod runs as ${spec?.serviceAccountName ?? 'nobody'}`);
  }
  const profile = profileOf(pod, identity);
  if (profile !== hello.profile) {
    throw new AttachRefusal('wrong_profile', `it says it is of profile ${hello.profile}, and its Pod is of ${profile}`);
  }
  const addresses = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  if (!addresses.includes(peerAddress)) {
    throw new AttachRefusal(
      'wrong_address',
      `it dials from ${peerAddress}, and its Pod has ${status?.podIP ?? 'no address'}`,
    );
  }
  return { name, uid, profile, ip: peerAddress };
}

/** The profile whose Deployment made the Pod, by owner and by label, which must agree. Throws AttachRefusal. */
export function profileOf({ metadata }: V1Pod, { profiles }: SandboxIdentity): string {
  const labels = metadata?.labels ?? {};
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
  if (owner?.kind !== 'ReplicaSet' || owner.apiVersion !== 'apps/v1') {
    throw new AttachRefusal('wrong_owner', `its Pod belongs to ${owner ? `${owner.kind} ${owner.name}` : 'nobody'}`);
  }
  const profile = [...profiles].find((one) => {
    const prefix = `${deploymentOf(one)}-`;
    return owner.name.startsWith(prefix) && /^[a-z0-9]+$/.test(owner.name.slice(prefix.length));
  });
  if (profile === undefined) throw new AttachRefusal('wrong_owner', `its Pod belongs to ReplicaSet ${owner.name}`);
  if (owner.name !== `${deploymentOf(profile)}-${labels[TEMPLATE_HASH_LABEL] ?? ''}`) {
    throw new AttachRefusal('relabelled', `its Pod has another ${TEMPLATE_HASH_LABEL} than its owner ${owner.name}`);
  }
  if (labels[PROFILE_LABEL] !== profile) {
    throw new AttachRefusal(
      'relabelled',
      `its Pod has ${PROFILE_LABEL}=${labels[PROFILE_LABEL] ?? ''} and is of ${profile}`,
    );
  }
  return profile;
}
