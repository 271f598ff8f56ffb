import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import { log } from '@moli/telemetry';
import type { Redis } from 'ioredis';
import { metrics } from '../../metrics.ts';
import type { ClusterApi } from './cluster.api.ts';
import { whyNot } from './cluster.fault.ts';
import type { CourierLedger } from './courier.ledger.ts';
import type { CourierPool } from './courier.pool.ts';
import { endedForMemory, restartsOf } from './memory.death.ts';
import { deploymentOf, type PodRef, PROFILE_LABEL, type SandboxIdentity } from './pod.checks.ts';
import { type AttachAttempt, PodGate } from './pod.gate.ts';
import { PodRemover } from './pod.remover.ts';
import { PodsWatch } from './pods.watch.ts';
import { PoolScaler } from './pool.scaler.ts';
import { type PoolBounds, RefillTime } from './pool.size.ts';
import { isUp, reapingOf } from './reaper.ts';
import { shortageOf } from './shortage.ts';
import { TokenBucket } from './token.bucket.ts';

/** How often Pods and demand are looked at. */
const STEP_MS = 1_000;
/** After a failed step, in milliseconds; the last one repeats. */
const BACK_OFF_MS = [1_000, 2_000, 5_000];
/** Deletions that could repeat without end: this many at once, then one every ten seconds. */
const LIMITED_BURST = 10;
const LIMITED_EVERY_MS = 10_000;
const CLOSE_MS = 2_000;
/** The kubelet looks at its containers every second and reports a change at once. */
const END_SEEN_MS = 2_500;

export interface SandboxPodsDeps {
  readonly api: ClusterApi;
  readonly redis: Redis;
  readonly ledger: CourierLedger;
  readonly pool: CourierPool;
  readonly identity: SandboxIdentity;
  readonly profiles: Readonly<Record<string, PoolBounds>>;
  /** A Pod is gone from the cluster. */
  onGone(podUid: string): void;
}

/** The sandbox Pods of the cluster: who they are, how many, which are to go, and why there are too few. */
export class SandboxPods {
  readonly #deps: SandboxPodsDeps;
  readonly #gate: PodGate;
  readonly #remover: PodRemover;
  readonly #watch: PodsWatch;
  readonly #scaler: PoolScaler;
  readonly #refill = new RefillTime();
  readonly #limited = new TokenBucket(LIMITED_BURST, LIMITED_EVERY_MS);
  readonly #aloneSince = new Map<string, number>();
  #known = new Set<string>();
  #deployments = new Map<string, V1Deployment | null>();
  #fault: string | null = null;
  #failures = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(deps: SandboxPodsDeps) {
    const { api, identity } = deps;
    this.#deps = deps;
    this.#gate = new PodGate(api, identity);
    this.#remover = new PodRemover(api);
    this.#watch = new PodsWatch(api);
    this.#scaler = new PoolScaler({ ...deps, remover: this.#remover });
  }

  start(): void {
    void this.#watch.start();
    void this.#step();
  }

  admit(attempt: AttachAttempt): Promise<PodRef> {
    return this.#gate.admit(attempt);
  }

  /** A Pod that can be used from now on. */
  attached(pod: PodRef): void {
    const made = this.#watch.find(pod)?.metadata?.creationTimestamp;
    // The watch leaves times as the text that came, whatever their type says.
    if (made) this.#refill.note((Date.now() - new Date(made).getTime()) / 1_000);
  }

  /** A Pod whose run is over. */
  remove(pod: PodRef): void {
    this.#remover.remove(pod);
  }

  /** A Pod that may not be used. Its successor is likely to be no better, so there is a bound; false: not now. */
  removeLimited(pod: PodRef): boolean {
    if (!this.#limited.take(performance.now())) return false;
    this.#remover.remove(pod);
    return true;
  }

  /** For a Pod that gets its run: asked once its sandbox is lost, it says whether that was for memory. Of what the watch sees; nothing is read for it. */
  witness(pod: PodRef): () => Promise<boolean> {
    const before = this.#watch.find(pod);
    const restarts = before ? restartsOf(before) : 0;
    return async () => (await this.#watch.look(pod, (now) => endedForMemory(now, restarts), END_SEEN_MS)) ?? false;
  }

  /** Why there are too few Pods, for an operator; null when nothing is known to be wrong. */
  shortage(): string | null {
    if (this.#fault) return this.#fault;
    for (const profile of Object.keys(this.#deps.profiles)) {
      if (!this.#deployments.has(profile)) continue;
      const short = shortageOf(profile, this.#deployments.get(profile) ?? null, this.#of(profile));
      if (short) return short;
    }
    return this.#watch.fault;
  }

  /** Whether a sandbox is on its way, or could be asked for. */
  get growing(): boolean {
    const starting = this.#starting();
    const { pool, profiles } = this.#deps;
    const most = Object.values(profiles).reduce((sum, { max }) => sum + max, 0);
    return [...starting.values()].some((count) => count > 0) || pool.busyCount < most;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#watch.close();
    await this.#remover.close(CLOSE_MS);
  }

  async #step(): Promise<void> {
    try {
      await this.#reap();
      await this.#scaler.step(this.#refill.seconds, STEP_MS * 2);
      for (const profile of Object.keys(this.#deps.profiles)) {
        if (this.#isShort(profile))
          this.#deployments.set(profile, await this.#deps.api.deployment(deploymentOf(profile)));
        else this.#deployments.delete(profile);
      }
      this.#fault = null;
      this.#failures = 0;
    } catch (error) {
      this.#fault = whyNot(error);
      if (this.#failures++ === 0) log.warn('the sandbox Pods cannot be looked after', { why: this.#fault, error });
    }
    for (const [profile, count] of this.#starting()) metrics.poolStarting.set({ profile }, count);
    if (this.#closed) return;
    const next = this.#failures === 0 ? STEP_MS : BACK_OFF_MS[Math.min(this.#failures, BACK_OFF_MS.length) - 1]!;
    this.#timer = setTimeout(() => void this.#step(), next);
  }

  async #reap(): Promise<void> {
    // An old list is no ground for deleting anything.
    if (this.#watch.fault) return;
    const { ledger, pool, identity, onGone } = this.#deps;
    const pods = this.#watch.list();
    const uids = pods.map((pod) => pod.metadata?.uid ?? '');
    const here = new Set(uids);
    for (const uid of this.#known) if (!here.has(uid)) onGone(uid);
    this.#known = here;
    const uses = await ledger.uses(uids);
    const now = Date.now();
    for (const [i, pod] of pods.entries()) {
      const uid = uids[i]!;
      const courier = pool.of(uid);
      const ours = courier && (pool.isBusy(courier) ? 'busy' : 'idle');
      const alone = isUp(pod) && !courier && uses[i]!.holder === null;
      if (!alone) this.#aloneSince.delete(uid);
      else if (!this.#aloneSince.has(uid)) this.#aloneSince.set(uid, now);
      const aloneSince = this.#aloneSince.get(uid) ?? null;
      const reaping = reapingOf({ pod, use: uses[i]!, ours, aloneSince }, identity, now);
      if (!reaping || (reaping.limited && !this.#limited.take(performance.now()))) continue;
      if (courier) {
        pool.remove(courier);
        courier.end();
      }
      log.info('a sandbox Pod is deleted', { pod: pod.metadata?.name, why: reaping.why });
      this.#remover.remove({ name: pod.metadata?.name ?? '', uid });
    }
    for (const uid of this.#aloneSince.keys()) if (!here.has(uid)) this.#aloneSince.delete(uid);
    if (await ledger.takeTurn('forget', 60_000)) await ledger.forgetAllBut(here);
  }

  #of(profile: string): V1Pod[] {
    return this.#watch.list().filter(({ metadata }) => metadata?.labels?.[PROFILE_LABEL] === profile);
  }

  /** No courier is idle here, so somebody may ask why. */
  #isShort(profile: string): boolean {
    return this.#deps.pool.idle(profile).length === 0;
  }

  /** Pods that are neither up nor on their way out, by profile. */
  #starting(): Map<string, number> {
    return new Map(
      Object.keys(this.#deps.profiles).map((profile) => [
        profile,
        this.#of(profile).filter((pod) => !isUp(pod) && !pod.metadata?.deletionTimestamp).length,
      ]),
    );
  }
}
