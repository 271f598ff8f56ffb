import { metrics } from '../../metrics.ts';
import type { HeldCourier } from './held.courier.ts';

/**
 * The couriers that this executor holds. Idle ones wait for a run; whoever finds none waits in line. A courier is handed out once and never
 * comes back.
 */
export class CourierPool {
  readonly #idle = new Map<string, Set<HeldCourier>>();
  readonly #busy = new Set<HeldCourier>();
  readonly #waiting = new Map<string, Set<(courier: HeldCourier) => void>>();
  readonly #listeners = new Set<() => void>();
  #shut = false;

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  idle(profile: string): readonly HeldCourier[] {
    return [...(this.#idle.get(profile) ?? [])];
  }

  get idleCount(): number {
    return [...this.#idle.values()].reduce((sum, couriers) => sum + couriers.size, 0);
  }

  get busyCount(): number {
    return this.#busy.size;
  }

  isBusy(courier: HeldCourier): boolean {
    return this.#busy.has(courier);
  }

  busyOf(profile: string): number {
    return [...this.#busy].filter(({ pod }) => pod.profile === profile).length;
  }

  /** While it is shut no courier is handed out, idle or new. */
  set shut(shut: boolean) {
    if (this.#shut === shut) return;
    this.#shut = shut;
    if (!shut) for (const profile of this.#idle.keys()) this.#serveLine(profile);
    this.#changed();
  }

  /** This Pod's courier, when it is here. */
  of(podUid: string): HeldCourier | null {
    return this.all().find(({ pod }) => pod.uid === podUid) ?? null;
  }

  all(): HeldCourier[] {
    return [...[...this.#idle.values()].flatMap((couriers) => [...couriers]), ...this.#busy];
  }

  add(courier: HeldCourier): void {
    const { profile } = courier.pod;
    this.#idle.set(profile, (this.#idle.get(profile) ?? new Set()).add(courier));
    this.#serveLine(profile);
    this.#changed();
  }

  /** Takes an idle courier, the one that waited longest first; waits for one until the time or the signal comes, then null. */
  async take(profile: string, timeoutMs: number, signal: AbortSignal): Promise<HeldCourier | null> {
    const courier = this.#next(profile);
    if (courier) {
      this.#changed();
      return courier;
    }
    if (timeoutMs <= 0 || signal.aborted) return null;
    metrics.coldStarts.inc({ profile });
    const { promise, resolve } = Promise.withResolvers<HeldCourier | null>();
    const hand = (found: HeldCourier): void => {
      lines.delete(hand);
      resolve(found);
    };
    const lines = this.#waiting.get(profile) ?? new Set();
    this.#waiting.set(profile, lines.add(hand));
    const give = (): void => {
      if (lines.delete(hand)) resolve(null);
    };
    const timer = setTimeout(give, timeoutMs);
    signal.addEventListener('abort', give, { once: true });
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', give);
    });
  }

  remove(courier: HeldCourier): void {
    this.#idle.get(courier.pod.profile)?.delete(courier);
    this.#busy.delete(courier);
    this.#changed();
  }

  #next(profile: string): HeldCourier | null {
    const [courier] = this.#shut ? [] : (this.#idle.get(profile) ?? []);
    if (!courier) return null;
    this.#idle.get(profile)?.delete(courier);
    this.#busy.add(courier);
    return courier;
  }

  #serveLine(profile: string): void {
    for (const hand of this.#waiting.get(profile) ?? []) {
      const courier = this.#next(profile);
      if (!courier) return;
      hand(courier);
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
