/** What a pool is asked for, over all executors. */
export interface Demand {
  /** Runs that nobody took yet. */
  readonly waiting: number;
  readonly running: number;
  /** Pods used per second, lately. */
  readonly rate: number;
  /** From the making of a Pod until it is ready. */
  readonly refillSeconds: number;
}

export interface PoolBounds {
  readonly min: number;
  readonly max: number;
}

/** Until a Pod has shown how long it takes. */
const REFILL_SECONDS = 5;
/** A node that takes longer is not helped by more Pods at once. */
const MOST_REFILL_SECONDS = 30;
const REMEMBERED = 15;
/** A pool shrinks to the most that was wanted in this time. */
const CALM_MS = 60_000;

/** Pods that the pool should have now: one for each run that is on or waits, and spare ones for those that come while a used one is replaced. */
export function wantedSize({ waiting, running, rate, refillSeconds }: Demand, { min, max }: PoolBounds): number {
  const spare = Math.max(1, Math.ceil(rate * refillSeconds));
  return Math.min(max, Math.max(min, running + waiting + spare));
}

/** How long new Pods take until they can be used: the median of the last ones. */
export class RefillTime {
  #taken: number[] = [];

  /** `ageSeconds` of a Pod that can be used from now on. One that is old was with another executor before, and tells nothing. */
  note(ageSeconds: number): void {
    if (ageSeconds <= 2 * MOST_REFILL_SECONDS) this.#taken = [...this.#taken, ageSeconds].slice(-REMEMBERED);
  }

  get seconds(): number {
    const median = this.#taken.toSorted((a, b) => a - b)[this.#taken.length >> 1] ?? REFILL_SECONDS;
    return Math.max(0, Math.min(MOST_REFILL_SECONDS, median));
  }
}

/** Grows at once and shrinks late: a Pod costs seconds to make, and quiet seconds between two questions are no reason to give it up. */
export class DampedSize {
  #history: { at: number; wanted: number }[] = [];

  /** The size to have at `now` (milliseconds), when `wanted` is what demand alone asks for. */
  next(wanted: number, now: number): number {
    this.#history = this.#history.filter(({ at }) => at > now - CALM_MS);
    this.#history.push({ at: now, wanted });
    return Math.max(...this.#history.map((one) => one.wanted));
  }
}
