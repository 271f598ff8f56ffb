import type { V1Pod } from '@kubernetes/client-node';

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
/** A pool shrinks to the most that was wanted in this time. */
const CALM_MS = 60_000;

/** Pods that the pool should have now: one for each run that is on or waits, and spare ones for those that come while a used one is replaced. */
export function wantedSize({ waiting, running, rate, refillSeconds }: Demand, { min, max }: PoolBounds): number {
  const spare = Math.max(1, Math.ceil(rate * refillSeconds));
  return Math.min(max, Math.max(min, running + waiting + spare));
}

/** How long Pods take to get ready here, in seconds: the median of those that are there. */
export function refillSecondsOf(pods: readonly V1Pod[]): number {
  const taken = pods.flatMap(({ metadata, status }) => {
    const ready = status?.conditions?.find(({ type, status: is }) => type === 'Ready' && is === 'True');
    const [made, since] = [metadata?.creationTimestamp, ready?.lastTransitionTime];
    // A watch leaves times as the text that came.
    return made && since ? [(new Date(since).getTime() - new Date(made).getTime()) / 1_000] : [];
  });
  const median = taken.sort((a, b) => a - b)[taken.length >> 1] ?? REFILL_SECONDS;
  return Math.min(MOST_REFILL_SECONDS, median);
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
