import type { ServerCredentials } from '@grpc/grpc-js';
import { log } from '@moli/telemetry';
import { metrics } from '../../metrics.ts';
import {
  cancelledBeforeStart,
  MAX_SANDBOXES_TRIED,
  type Runner,
  RunnerError,
  type RunnerStatus,
  type RunReport,
  type RunSink,
  type RunSpec,
} from '../runner.ts';
import { AttachRefusal } from './attach.refusal.ts';
import type { CourierLedger } from './courier.ledger.ts';
import type { CourierPool } from './courier.pool.ts';
import { CourierServer } from './courier.server.ts';
import type { HeldCourier } from './held.courier.ts';
import { checkHello, reachedTargets } from './hello.check.ts';
import { IsolationWatch } from './isolation.watch.ts';
import { memoryLimitReport } from './memory.death.ts';
import type { PodRef } from './pod.checks.ts';
import type { AttachAttempt } from './pod.gate.ts';
import type { SandboxPods } from './sandbox.pods.ts';

/** Which pool runs of Python take. */
const PROFILE = 'python';
/** How often idle couriers try their walls again: a network policy can be taken away while they wait. */
const PROBE_EVERY_MS = 10_000;
const PROBE_TIMEOUT_MS = 5_000;
/** Neighbours that one courier tries; the others are tried by others. */
const NEIGHBOURS = 4;
/** How often Pods that reached something are replaced. */
const REPLACE_EVERY_MS = 2_000;
/** A pool that is empty between two runs is no fault; one that stays so is, unless other executors have the couriers. */
const EMPTY_MS = 5_000;
const STANDBY_EVERY_MS = 1_000;

export interface KubernetesRunnerOptions {
  readonly host: string;
  readonly port: number;
  readonly credentials: ServerCredentials;
  readonly minStrength: string;
  /** What this executor reaches itself and no sandbox may, as address:port; asked anew for each probe, since addresses change. */
  forbidden(): Promise<readonly string[]>;
  readonly ledger: CourierLedger;
  readonly pool: CourierPool;
  /** Given `onGone` for Pods that left the cluster. */
  pods(
    onGone: (podUid: string) => void,
  ): Pick<
    SandboxPods,
    'start' | 'admit' | 'attached' | 'remove' | 'removeLimited' | 'witness' | 'shortage' | 'growing' | 'close'
  >;
}

/** Sandboxes in Pods of a cluster: each executor holds the couriers that attached to it, and gives each Pod one run. */
export class KubernetesRunner implements Runner {
  readonly name = 'kubernetes';
  readonly #options: KubernetesRunnerOptions;
  readonly #pool: CourierPool;
  readonly #pods: ReturnType<KubernetesRunnerOptions['pods']>;
  readonly #server: CourierServer;
  readonly #isolation: IsolationWatch;
  readonly #refused = new Map<string, { pod: PodRef; refusal: AttachRefusal }>();
  readonly #timers: NodeJS.Timeout[] = [];
  #strength = 'none';
  #emptySince: number | null = Number.NEGATIVE_INFINITY;
  /** Nothing is wrong here: every courier went to another executor, and the next one may come to us. */
  #standby = false;
  #port = 0;
  #draining = false;

  constructor(options: KubernetesRunnerOptions) {
    this.#options = options;
    this.#pool = options.pool;
    this.#isolation = new IsolationWatch(() => this.#isolationChanged());
    this.#pods = options.pods((podUid) => this.#forget(podUid));
    this.#server = new CourierServer({
      ...options,
      admit: (attempt) => this.#admit(attempt),
      onAttached: (courier) => void this.#offer(courier),
      onGone: (courier) => this.#gone(courier),
    });
    this.#pool.onChange(() => this.#count());
  }

  /** Idle and busy; only the busy ones while none may be used. */
  get slots(): number {
    return this.#pool.busyCount + this.#idle;
  }

  /** Where couriers attach; 0 before the start. */
  get port(): number {
    return this.#port;
  }

  onChange(listener: () => void): void {
    this.#pool.onChange(listener);
  }

  async start(): Promise<void> {
    // An executor to which no courier ever comes reports none, instead of nothing.
    this.#count();
    this.#port = await this.#server.start();
    this.#pods.start();
    this.#timers.push(
      setInterval(() => void this.#probeIdle(), PROBE_EVERY_MS),
      setInterval(() => this.#replaceBroken(), REPLACE_EVERY_MS),
      setInterval(() => void this.#lookElsewhere(), STANDBY_EVERY_MS),
    );
  }

  status(): RunnerStatus {
    const reason = this.#reason();
    const empty = this.#emptySince !== null && performance.now() - this.#emptySince > EMPTY_MS;
    const ready = !this.#isolation.broken && (!empty || this.#standby);
    return {
      ready,
      ...(reason && (!ready || this.#idle === 0) ? { reason } : {}),
      sandbox: this.#strength,
      slots: this.slots,
      idle: this.#idle,
      preparing: this.#idle === 0 && !this.#isolation.broken && this.#pods.growing,
    };
  }

  async run(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<RunReport> {
    const since = performance.now();
    for (let tried = 1; ; tried++) {
      const courier = await this.#claim(spec, signal);
      if (!courier) return cancelledBeforeStart(performance.now() - since, this.#strength);
      const claimedMs = performance.now() - since;
      const endedForMemory = this.#pods.witness(courier.pod);
      try {
        const { result, claimMs } = await courier.run(spec, sink, signal);
        const { timings, strength, ...report } = result;
        return { ...report, timings: { ...timings, claimMs: claimedMs + claimMs }, sandbox: strength };
      } catch (error) {
        if (!(error instanceof RunnerError)) throw error;
        if (signal.aborted) return cancelledBeforeStart(performance.now() - since, this.#strength);
        const runMs = performance.now() - since - claimedMs;
        if (error.fault === 'sandbox_lost' && (await endedForMemory())) {
          return memoryLimitReport(spec, { claimMs: claimedMs, runMs, sandbox: this.#strength });
        }
        if (error.fault !== 'sandbox_unavailable' || tried === MAX_SANDBOXES_TRIED) throw error;
        log.warn('a Pod broke before the run began, taking another one', {
          run: spec.runId,
          pod: courier.pod.name,
          error,
        });
      } finally {
        void courier.released.then(() => this.#retire(courier));
      }
    }
  }

  /** Takes no courier any more and sends the idle ones to other executors; runs go on. */
  drain(): void {
    this.#draining = true;
    this.#server.drain();
    this.#pool.shut = true;
    this.#dismissIdle();
  }

  async close(): Promise<void> {
    this.drain();
    for (const timer of this.#timers) clearInterval(timer);
    // A Pod that was used is deleted by us, not left to others.
    for (const courier of this.#pool.all()) if (this.#pool.isBusy(courier)) this.#retire(courier);
    await this.#pods.close();
    this.#server.close();
  }

  get #idle(): number {
    return this.#isolation.broken ? 0 : this.#pool.idleCount;
  }

  /** A courier whose Pod is ours alone from now on; null when the run was cancelled meanwhile. */
  async #claim(spec: RunSpec, signal: AbortSignal): Promise<HeldCourier | null> {
    for (;;) {
      const courier = await this.#pool.take(PROFILE, spec.startBefore - Date.now(), signal);
      if (!courier) {
        if (signal.aborted) return null;
        throw new RunnerError('sandbox_unavailable', this.#reason() || 'no sandbox became free in time');
      }
      const first = await this.#options.ledger.use(courier.pod.uid).catch((error: unknown) => {
        this.#retire(courier);
        throw new RunnerError('sandbox_unavailable', 'Redis did not answer', { cause: error });
      });
      if (first && courier.there) return courier;
      // Its stream is dead and another executor had it, or it went away between two instructions.
      if (first) this.#retire(courier);
      else {
        this.#letGo(courier);
        courier.end();
      }
    }
  }

  async #admit(attempt: AttachAttempt): Promise<PodRef> {
    const pod = await this.#pods.admit(attempt);
    try {
      if (await this.#options.ledger.used(pod.uid)) throw new AttachRefusal('already_used', 'its Pod had its run');
      this.#isolation.report(pod, reachedTargets(attempt.hello.probes));
      if (this.#isolation.has(pod.uid)) {
        throw new AttachRefusal('isolation_broken', `it reached ${this.#isolation.reachedBy(pod.uid).join(', ')}`);
      }
      checkHello(attempt.hello, this.#options.minStrength);
    } catch (error) {
      if (error instanceof AttachRefusal) {
        this.#refused.set(pod.uid, { pod, refusal: error });
        await this.#options.ledger.refuse(pod.uid, error.reason);
      }
      throw error;
    }
    this.#refused.delete(pod.uid);
    this.#strength = attempt.hello.strength;
    return pod;
  }

  /** The last of its probes: its neighbours and our Redis, which only we know. Then it is there to be taken. */
  async #offer(courier: HeldCourier): Promise<void> {
    await this.#options.ledger.hold(courier.pod.uid).catch(this.#ledgerFailed);
    const clean = await this.#probe(courier);
    if (!clean) courier.end();
    else if (courier.there && !this.#draining) {
      this.#pods.attached(courier.pod);
      this.#pool.add(courier);
    } else courier.leave();
  }

  /** Whether it still reaches nothing. */
  async #probe(courier: HeldCourier): Promise<boolean> {
    const others = this.#pool.all().filter(({ pod }) => pod.uid !== courier.pod.uid);
    const neighbours = others.slice(-NEIGHBOURS).map(({ canary }) => canary);
    const probes = await courier.probe(neighbours, await this.#options.forbidden(), PROBE_TIMEOUT_MS);
    if (!probes) {
      log.warn('a courier does not answer a probe', { pod: courier.pod.name });
      return false;
    }
    const reached = reachedTargets(probes);
    this.#isolation.report(courier.pod, reached);
    return reached.length === 0;
  }

  async #probeIdle(): Promise<void> {
    const idle = this.#pool.idle(PROFILE);
    await Promise.all(
      idle.map(async (courier) => {
        if ((await this.#probe(courier)) || this.#pool.isBusy(courier)) return;
        this.#pool.remove(courier);
        courier.end();
      }),
    );
  }

  /** Once one Pod reached something, the others prove themselves anew: whoever is idle attaches again, with new probes. */
  #isolationChanged(): void {
    this.#pool.shut = this.#isolation.broken || this.#draining;
    if (this.#isolation.broken) this.#dismissIdle();
  }

  /** Sends idle couriers to dial again. */
  #dismissIdle(): void {
    for (const courier of this.#pool.idle(PROFILE)) {
      this.#letGo(courier);
      courier.leave();
    }
  }

  /** A Pod that reached something makes room for another one, as fast as the bound allows. */
  #replaceBroken(): void {
    for (const pod of this.#isolation.pods) if (!this.#pods.removeLimited(pod)) return;
  }

  #forget(podUid: string): void {
    this.#isolation.forget(podUid);
    this.#refused.delete(podUid);
  }

  /** The Pod had its run, or was claimed for one. It stays ours until it is gone, so that no other executor deletes it as well. */
  #retire(courier: HeldCourier): void {
    this.#pool.remove(courier);
    courier.end();
    this.#pods.remove(courier.pod);
  }

  /** The Pod can go to another executor. */
  #letGo(courier: HeldCourier): void {
    this.#pool.remove(courier);
    this.#options.ledger.release(courier.pod.uid).catch(this.#ledgerFailed);
  }

  #gone(courier: HeldCourier): void {
    // A busy one is let go by its run.
    if (!this.#pool.isBusy(courier)) this.#letGo(courier);
  }

  #reason(): string {
    if (this.#isolation.broken) return this.#isolation.reason;
    if (this.#idle > 0) return '';
    const shortage = this.#pods.shortage();
    if (shortage) return shortage;
    if (this.#standby) return 'other executors hold the sandboxes';
    const [refused] = [...this.#refused.values()].slice(-1);
    if (refused) return `Pod ${refused.pod.name} was refused: ${refused.refusal.reason}: ${refused.refusal.message}`;
    return this.#pool.busyCount > 0 ? 'every sandbox is in use' : 'sandboxes are starting';
  }

  /** Others may take the Pod for nobody's, or for ours, until the reaper looks again. */
  readonly #ledgerFailed = (error: unknown): void => log.warn('who holds a Pod could not be noted', { error });

  async #lookElsewhere(): Promise<void> {
    this.#standby = this.slots === 0 && (await this.#options.ledger.heldElsewhere().catch(() => false));
  }

  #count(): void {
    metrics.poolHeld.set({ profile: PROFILE, state: 'idle' }, this.#pool.idle(PROFILE).length);
    metrics.poolHeld.set({ profile: PROFILE, state: 'busy' }, this.#pool.busyOf(PROFILE));
    const empty = this.slots === 0;
    if (!empty) this.#emptySince = null;
    else this.#emptySince ??= performance.now();
  }
}
