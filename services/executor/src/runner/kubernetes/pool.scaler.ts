import { RunLog } from '@moli/queue';
import { log } from '@moli/telemetry';
import type { Redis } from 'ioredis';
import type { ClusterApi } from './cluster.api.ts';
import type { CourierLedger } from './courier.ledger.ts';
import type { CourierPool } from './courier.pool.ts';
import { deploymentOf } from './pod.checks.ts';
import type { PodRemover } from './pod.remover.ts';
import { DampedSize, type Demand, type PoolBounds, wantedSize } from './pool.size.ts';

export interface ScalerDeps {
  readonly api: ClusterApi;
  readonly redis: Redis;
  readonly ledger: CourierLedger;
  readonly pool: CourierPool;
  readonly remover: PodRemover;
  readonly profiles: Readonly<Record<string, PoolBounds>>;
}

/** Sets the size of each pool to what demand asks for. Every executor follows demand; one at a time acts on it. */
export class PoolScaler {
  readonly #deps: ScalerDeps;
  readonly #runLog: RunLog;
  readonly #damped = new Map<string, DampedSize>();

  constructor(deps: ScalerDeps) {
    this.#deps = deps;
    this.#runLog = new RunLog(deps.redis);
  }

  /**
   * Once a second. `refillSeconds`: how long a new Pod takes; `turnMs`: for how long the others leave it to whoever has the turn. Throws what the
   * API server answers.
   */
  async step(refillSeconds: number, turnMs: number): Promise<void> {
    const demand = { ...(await this.#demand()), refillSeconds };
    const wanted = Object.entries(this.#deps.profiles).map(([profile, bounds]) => {
      const damped = this.#damped.get(profile) ?? new DampedSize();
      this.#damped.set(profile, damped);
      return { profile, size: damped.next(wantedSize(demand, bounds), Date.now()) };
    });
    if (!(await this.#deps.ledger.takeTurn('scale', turnMs))) return;
    for (const { profile, size } of wanted) await this.#setSize(profile, size);
  }

  /** Runs have no profile of their own yet: all of them are asked of each pool, and there is one. */
  async #demand(): Promise<Omit<Demand, 'refillSeconds'>> {
    const [open, executors, rate] = await Promise.all([
      this.#runLog.open(),
      this.#runLog.executors(),
      this.#deps.ledger.useRate(),
    ]);
    return {
      waiting: open.filter(({ owner }) => owner === null).length,
      running: [...executors.values()].reduce((sum, { slots, idle }) => sum + slots - idle, 0),
      rate,
    };
  }

  async #setSize(profile: string, size: number): Promise<void> {
    const { api } = this.#deps;
    const name = deploymentOf(profile);
    const deployment = await api.deployment(name);
    const current = deployment?.spec?.replicas;
    if (current === undefined || current === size) return;
    const next = size > current ? size : current - this.#giveUp(profile, current - size);
    if (next === current) return;
    await api.scale(name, next);
    log.info('the size of a pool was changed', { profile, from: current, to: next });
  }

  /**
   * Deletes idle Pods of our own before the size goes down, and says how many. Their successors are not ready when it does, and a ReplicaSet
   * removes those first: so it never chooses a Pod that is running something.
   */
  #giveUp(profile: string, count: number): number {
    const { pool, remover } = this.#deps;
    const couriers = pool.idle(profile).slice(-count);
    for (const courier of couriers) {
      pool.remove(courier);
      courier.end();
      remover.remove(courier.pod);
    }
    return couriers.length;
  }
}
