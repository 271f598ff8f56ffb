/** What a pool is asked for, over all executors. */
export interface Demand {
  /** Runs that nobody took yet. */
  readonly waiting: number;
  readonly running: number;
  /** Pods used per second, lately. */
  readonly rate: number;
}

export interface PoolBounds {
  readonly min: number;
  readonly max: number;
}

/** From the deletion of a used Pod until its successor is attached, in seconds: what is used up meanwhile has to be there already. */
const REFILL_SECONDS = 5;
/** A pool shrinks to the most that was wanted in this time. */
const CALM_MS = 60_000;

/** Pods that the pool should have now: one for each run that is on or waits, and spare ones for those to come. */
export function wantedSize({ waiting, running, rate }: Demand, { min, max }: PoolBounds): number {
  const spare = Math.max(1, Math.ceil(rate * REFILL_SECONDS));
  return Math.min(max, Math.max(min, running + waiting + spare));
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
