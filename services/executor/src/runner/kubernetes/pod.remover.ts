import { setTimeout as wait } from 'node:timers/promises';
import { log } from '@moli/telemetry';
import type { ClusterApi } from './cluster.api.ts';
import { whyNot } from './cluster.fault.ts';

/** Waits before another try, in milliseconds; the last one repeats until the API server is back. */
const BACK_OFF_MS = [250, 500, 1_000, 2_000, 5_000];

/** Deletes Pods until they are gone, whatever the API server does meanwhile. */
export class PodRemover {
  readonly #api: Pick<ClusterApi, 'deletePod'>;
  readonly #removing = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #fault: string | null = null;

  constructor(api: Pick<ClusterApi, 'deletePod'>) {
    this.#api = api;
  }

  /** Why Pods cannot be deleted now, or null. */
  get fault(): string | null {
    return this.#fault;
  }

  remove(pod: { name: string; uid: string }): void {
    if (this.#removing.has(pod.uid)) return;
    const removing = this.#remove(pod).finally(() => this.#removing.delete(pod.uid));
    this.#removing.set(pod.uid, removing);
  }

  /** Gives the deletions that are on their way a moment; what is left is the reaper's, of whichever executor. */
  async close(timeoutMs: number): Promise<void> {
    const late = setTimeout(() => this.#stop.abort(), timeoutMs);
    await Promise.all(this.#removing.values());
    clearTimeout(late);
  }

  async #remove(pod: { name: string; uid: string }): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      try {
        await this.#api.deletePod(pod);
        this.#fault = null;
        return;
      } catch (error) {
        this.#fault = whyNot(error);
        if (tries === 0) log.warn('a sandbox Pod could not be deleted, trying again', { pod: pod.name, error });
        await wait(BACK_OFF_MS[Math.min(tries, BACK_OFF_MS.length - 1)], undefined, {
          signal: this.#stop.signal,
        }).catch(() => {});
      }
    }
  }
}
