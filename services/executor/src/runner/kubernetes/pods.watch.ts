import { setTimeout as wait } from 'node:timers/promises';
import type { Informer, ObjectCache, V1Pod } from '@kubernetes/client-node';
import { log } from '@moli/telemetry';
import type { ClusterApi } from './cluster.api.ts';
import { whyNot } from './cluster.fault.ts';

/** Waits before the watch is opened again, in milliseconds; the last one repeats. */
const BACK_OFF_MS = [200, 500, 1_000, 2_000];

/** The Pods of the sandbox namespace as last seen. A watch that drops is opened again; until then the list is old and says so. */
export class PodsWatch {
  readonly #namespace: string;
  readonly #informer: Informer<V1Pod> & ObjectCache<V1Pod>;
  readonly #stop = new AbortController();
  #fault: string | null = 'the Pods were not listed yet';
  #failures = 0;

  constructor(api: ClusterApi) {
    this.#namespace = api.namespace;
    this.#informer = api.watchPods();
    this.#informer.on('change', () => this.#alive());
    this.#informer.on('error', (error: unknown) => void this.#again(error));
  }

  /** Why the list may be old, or null. */
  get fault(): string | null {
    return this.#fault;
  }

  async start(): Promise<void> {
    await this.#open();
  }

  list(): readonly V1Pod[] {
    return this.#informer.list();
  }

  /** A Pod as last seen; one that only has the name of an earlier one is another Pod. */
  find({ name, uid }: { name: string; uid: string }): V1Pod | undefined {
    const pod = this.#informer.get(name, this.#namespace);
    return pod?.metadata?.uid === uid ? pod : undefined;
  }

  /** What `look` first says of a Pod that changes; null when it said nothing in time, or the Pod is gone. */
  async look<T>(
    pod: { name: string; uid: string },
    look: (pod: V1Pod) => T | null,
    timeoutMs: number,
  ): Promise<T | null> {
    const { promise, resolve } = Promise.withResolvers<T | null>();
    const seen = (now: V1Pod | undefined): void => {
      const said = now ? look(now) : null;
      if (!now || said !== null) resolve(said);
    };
    const changed = (now: V1Pod): void => {
      if (now.metadata?.uid === pod.uid) seen(now);
    };
    const left = ({ metadata }: V1Pod): void => {
      if (metadata?.uid === pod.uid) resolve(null);
    };
    this.#informer.on('update', changed);
    this.#informer.on('delete', left);
    const timer = setTimeout(() => resolve(null), timeoutMs);
    seen(this.find(pod));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#informer.off('update', changed);
      this.#informer.off('delete', left);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#informer.stop();
  }

  async #open(): Promise<void> {
    // It calls its error listener instead of throwing; reaching the end means that the list is there and the watch is open.
    const failures = this.#failures;
    await this.#informer.start();
    if (this.#failures === failures) this.#alive();
  }

  #alive(): void {
    if (this.#fault !== null && this.#failures > 0) log.info('the watch of sandbox Pods is open again');
    this.#fault = null;
    this.#failures = 0;
  }

  async #again(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#fault = `the watch of Pods dropped: ${whyNot(error)}`;
    if (this.#failures === 0) log.warn('the watch of sandbox Pods dropped', { error });
    const backOff = BACK_OFF_MS[Math.min(this.#failures++, BACK_OFF_MS.length - 1)];
    await wait(backOff, undefined, { signal: this.#stop.signal }).catch(() => {});
    if (!this.#stop.signal.aborted) await this.#open();
  }
}
