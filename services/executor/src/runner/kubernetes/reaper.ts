import type { V1Pod } from '@kubernetes/client-node';
import { AttachRefusal } from './attach.refusal.ts';
import type { PodUse } from './courier.ledger.ts';
import { profileOf, type SandboxIdentity } from './pod.checks.ts';

/** A Pod that is up and belongs to no executor has this long to attach: its courier tries every two seconds at most. */
const UNATTACHED_MS = 7_000;
/** Beyond its grace period; then the node is taken for lost. */
const STUCK_DELETION_MS = 30_000;

export interface PodFacts {
  readonly pod: V1Pod;
  readonly use: PodUse;
  /** Whether its courier is attached to this executor, and waits or has a run. */
  readonly ours: 'idle' | 'busy' | null;
  /** Since when this executor has seen it up and with nobody (epoch ms). */
  readonly aloneSince: number | null;
}

/** `limited`: right, but only so many at once, or a fault that all Pods share would make the cluster start Pods without end. */
export type Reaping = { readonly why: string; readonly limited: boolean } | null;

/** Whether a Pod is to be deleted, and why. One that has a run never is, and one that another executor holds is left to it. */
export function reapingOf({ pod, use, ours, aloneSince }: PodFacts, identity: SandboxIdentity, now: number): Reaping {
  const { metadata, spec, status } = pod;
  // Not made by us: somebody else's business, and not ours to delete.
  if (spec?.serviceAccountName !== identity.serviceAccount) return null;
  if (ours === 'busy' || (ours === null && use.holder !== null)) return null;
  if (metadata?.deletionTimestamp) {
    const late = now - new Date(metadata.deletionTimestamp).getTime();
    return late > STUCK_DELETION_MS ? { why: 'its deletion is stuck', limited: false } : null;
  }
  if (use.used && ours === null) return { why: 'it had its run', limited: false };
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed')
    return { why: `it is ${status.phase}`, limited: false };
  try {
    profileOf(pod, identity);
  } catch (error) {
    if (error instanceof AttachRefusal) return { why: error.message, limited: false };
    throw error;
  }
  if (ours === 'idle') return null;
  // Refused with a reason that passes by itself, such as an object store that is away: another Pod would be no better.
  if (use.refused !== null) return null;
  if (aloneSince !== null && now - aloneSince > UNATTACHED_MS) return { why: 'no executor has it', limited: true };
  return null;
}

/** Its sandbox is there and its courier runs: from now on it could attach. */
export function isUp({ status }: V1Pod): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;
}
