import { log } from '@moli/telemetry';
import type { PodRef } from './pod.checks.ts';

/** Pods that reached something they must not. While there is one, this executor runs nothing: its neighbours stand behind the same walls. */
export class IsolationWatch {
  readonly #breaches = new Map<string, { pod: PodRef; reached: readonly string[] }>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get broken(): boolean {
    return this.#breaches.size > 0;
  }

  /** Which Pod reached what, for an operator. */
  get reason(): string {
    const [first] = this.#breaches.values();
    if (!first) return '';
    const others = this.#breaches.size > 1 ? ` (and ${this.#breaches.size - 1} other Pods reached something)` : '';
    return `isolation is broken: Pod ${first.pod.name} reached ${first.reached.join(', ')}${others}; no run is started`;
  }

  get pods(): PodRef[] {
    return [...this.#breaches.values()].map(({ pod }) => pod);
  }

  has(podUid: string): boolean {
    return this.#breaches.has(podUid);
  }

  reachedBy(podUid: string): readonly string[] {
    return this.#breaches.get(podUid)?.reached ?? [];
  }

  report(pod: PodRef, reached: readonly string[]): void {
    if (reached.length === 0) return;
    if (!this.#breaches.has(pod.uid)) log.error('isolation is broken: nothing is run', { pod: pod.name, reached });
    this.#breaches.set(pod.uid, { pod, reached });
    this.#onChange();
  }

  /** The Pod is gone, and what it reached says nothing about the next one. */
  forget(podUid: string): void {
    if (!this.#breaches.delete(podUid)) return;
    if (!this.broken) log.info('no Pod with broken isolation is left');
    this.#onChange();
  }
}
