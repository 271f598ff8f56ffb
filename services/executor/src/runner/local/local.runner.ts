import { log } from '@moli/telemetry';
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
import { LinkClient } from '../slot/link.client.ts';
import { Outbox } from '../slot/outbox.ts';
import { runInSlot } from '../slot/slot.connection.ts';
import { type BoxOptions, BoxProcess } from './box.process.ts';

export interface LocalRunnerOptions extends BoxOptions {
  /** Folder for what runs make, on its way to the object store; emptied at the start. The box must not see it. */
  readonly outboxDir: string;
}

/** Sandboxes of this machine: one outer box with a zygote, a single-use slot for each run. */
export class LocalRunner implements Runner {
  readonly name = 'local';
  readonly slots: number;
  readonly #box: BoxProcess;
  readonly #outboxDir: string;
  readonly #links = new LinkClient();
  #running = 0;

  constructor(options: LocalRunnerOptions) {
    this.slots = options.slots;
    this.#box = new BoxProcess(options);
    this.#outboxDir = options.outboxDir;
  }

  async start(): Promise<void> {
    await Outbox.prepare(this.#outboxDir);
    this.#box.start();
  }

  status(): RunnerStatus {
    const { ready, reason } = this.#box;
    return {
      ready: ready !== null,
      ...(ready ? {} : { reason }),
      sandbox: ready?.strength ?? 'none',
      slots: this.slots,
      idle: ready ? Math.max(0, this.slots - this.#running) : 0,
      preparing: ready === null,
    };
  }

  async run(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<RunReport> {
    this.#running++;
    try {
      return await this.#runOnce(spec, sink, signal);
    } finally {
      this.#running--;
    }
  }

  onChange(listener: () => void): void {
    this.#box.onChange(listener);
  }

  /** Slots of this machine are of no use to others. */
  drain(): void {}

  async close(): Promise<void> {
    await this.#box.stop();
    this.#links.close();
  }

  async #runOnce(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<RunReport> {
    const since = performance.now();
    for (let tried = 1; ; tried++) {
      const ready = await this.#box.whenReady(spec.startBefore - Date.now(), signal);
      if (signal.aborted) return cancelledBeforeStart(performance.now() - since, this.status().sandbox);
      if (!ready) throw new RunnerError('sandbox_unavailable', this.#box.reason);
      const beforeSlot = performance.now() - since;
      try {
        const place = { socketPath: this.#box.socketPath, outboxDir: this.#outboxDir, links: this.#links };
        const { result, claimMs } = await runInSlot(place, spec, sink, signal);
        const { timings, strength, ...report } = result;
        return { ...report, timings: { ...timings, claimMs: beforeSlot + claimMs }, sandbox: strength };
      } catch (error) {
        if (!(error instanceof RunnerError)) throw error;
        if (signal.aborted) return cancelledBeforeStart(performance.now() - since, this.status().sandbox);
        if (error.fault !== 'sandbox_unavailable' || tried === MAX_SANDBOXES_TRIED) throw error;
        log.warn('a slot broke before the run began, taking another one', { run: spec.runId, error });
        await new Promise((resolve) => setTimeout(resolve, 50 * tried));
      }
    }
  }
}
