import { type Hello, ProbeOutcome, type ProbeResult } from '@moli/rpc';
import { AttachRefusal } from './attach.refusal.ts';

/** Takes a Pod only when its sandbox is as strong as it has to be and nothing that must be out of reach was reached. */
export function checkHello(hello: Hello, minStrength: string): void {
  if (hello.sandboxFault)
    throw new AttachRefusal('sandbox_not_ready', `its sandbox is not ready: ${hello.sandboxFault}`);
  const missing = missingLayers(hello.strength, minStrength);
  if (missing.length > 0) {
    const has = hello.strength || 'nothing';
    throw new AttachRefusal('sandbox_weak', `its sandbox has ${has} and lacks ${missing.join('+')}`);
  }
  if (hello.probes.length === 0) throw new AttachRefusal('protocol', 'it made no isolation probe');
  const reached = reachedTargets(hello.probes);
  if (reached.length > 0) throw new AttachRefusal('isolation_broken', `it reached ${reached.join(', ')}`);
  const failed = hello.probes.find(({ outcome }) => outcome !== ProbeOutcome.BLOCKED);
  if (failed) throw new AttachRefusal('objects_unreachable', `${failed.target}: ${failed.detail}`);
}

/** What was reached, each as `api-server 10.96.0.1:443 (a TCP connection was established)`. */
export function reachedTargets(probes: readonly ProbeResult[]): string[] {
  return probes
    .filter(({ outcome }) => outcome === ProbeOutcome.REACHED)
    .map(({ kind, target, detail }) => `${kind} ${target} (${detail})`);
}

function missingLayers(strength: string, minStrength: string): string[] {
  const has = new Set(strength.split('+'));
  return minStrength.split('+').filter((layer) => layer !== '' && !has.has(layer));
}
