import { once } from 'node:events';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import {
  type AttachRequest,
  type AttachResponse,
  type CourierServiceClient,
  Fault,
  type Hello,
  type ProbeResult,
  type Run,
} from '@moli/rpc';
import { log } from '@moli/telemetry';
import { RunnerError, type RunnerFault, type RunSpec } from '../runner/runner.ts';
import { runInSlot, type SlotPlace } from '../runner/slot/slot.connection.ts';
import { RemoteSink } from './remote.sink.ts';

const FAULTS: Record<RunnerFault, Fault> = {
  sandbox_unavailable: Fault.SANDBOX_UNAVAILABLE,
  sandbox_lost: Fault.SANDBOX_LOST,
  input_unavailable: Fault.INPUT_UNAVAILABLE,
  input_altered: Fault.INPUT_ALTERED,
};

/** `again`: no run was taken, and another executor may have one. `spent`: this Pod had its run. */
export type AttachmentEnd = 'again' | 'spent';

export interface AttachmentDeps {
  readonly client: CourierServiceClient;
  readonly place: SlotPlace;
  /** Tries what must be out of reach, and these too: address:port. */
  probe(neighbours: readonly string[], forbidden: readonly string[]): Promise<ProbeResult[]>;
  /** Notes in the Pod itself, before the run begins, that it was used. */
  markSpent(): Promise<void>;
}

/** One stream to one executor, with at most one run on it. When it breaks under a run, the run ends with it. */
export class Attachment {
  readonly #deps: AttachmentDeps;
  readonly #call: ClientDuplexStream<AttachRequest, AttachResponse>;
  readonly #sink: RemoteSink;
  readonly #cancel = new AbortController();
  #running: Promise<void> | null = null;

  constructor(deps: AttachmentDeps) {
    this.#deps = deps;
    this.#call = deps.client.attach();
    this.#sink = new RemoteSink((message) => this.#send(message));
  }

  get busy(): boolean {
    return this.#running !== null;
  }

  /** Attaches and serves until the stream ends. Throws the stream's error while no run was taken. */
  async serve(hello: Hello): Promise<AttachmentEnd> {
    void this.#send({ $case: 'hello', value: hello });
    try {
      for await (const { message } of this.#call as AsyncIterable<AttachResponse>) {
        if (message?.$case === 'leave') break;
        await this.#take(message);
      }
    } catch (error) {
      if (!this.busy) throw error;
      log.warn('the stream to the executor broke under a run', { error });
    } finally {
      this.#call.cancel();
    }
    if (!this.#running) return 'again';
    this.#cancel.abort();
    this.#sink.accepted();
    await this.#running;
    return 'spent';
  }

  /** Ends an idle attachment. */
  leave(): void {
    this.#call.cancel();
  }

  async #take(message: AttachResponse['message']): Promise<void> {
    switch (message?.$case) {
      case 'welcome':
        log.info('attached to an executor');
        break;
      case 'probe':
        void this.#deps
          .probe(message.value.neighbours, message.value.forbidden)
          .then((probes) => this.#send({ $case: 'probed', value: { probes } }))
          .catch((error: unknown) => log.warn('a probe could not be made', { error }));
        break;
      case 'run':
        if (this.#running) throw new Error('a second run for one Pod');
        this.#running = this.#run(message.value);
        break;
      case 'cancel':
        this.#cancel.abort();
        break;
      case 'accept':
        this.#sink.accepted();
        break;
      case 'store': {
        const { contentId, ...link } = message.value;
        void this.#sink
          .store(contentId, link)
          .then((fault) => this.#send({ $case: 'stored', value: { contentId, fault } }));
        break;
      }
      case 'drop':
        await this.#sink.drop(message.value.contentId);
        break;
    }
  }

  async #run(run: Run): Promise<void> {
    log.info('the run begins', { run: run.runId });
    try {
      await this.#deps.markSpent();
      const { result, claimMs } = await runInSlot(this.#deps.place, specOf(run), this.#sink, this.#cancel.signal);
      await this.#send({ $case: 'report', value: { result: JSON.stringify(result), claimMs } });
    } catch (error) {
      const fault = error instanceof RunnerError ? error.fault : 'sandbox_lost';
      const message = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
      log.warn('the run has no report', { run: run.runId, fault, error });
      await this.#send({ $case: 'failure', value: { fault: FAULTS[fault], message } });
    }
  }

  #send(message: NonNullable<AttachRequest['message']>): Promise<void> | undefined {
    if (this.#call.destroyed || this.#call.write({ message })) return undefined;
    return this.#drained();
  }

  /** The stream takes more, or is over. */
  async #drained(): Promise<void> {
    const over = new AbortController();
    try {
      await Promise.race(['drain', 'close', 'error'].map((event) => once(this.#call, event, { signal: over.signal })));
    } finally {
      over.abort();
    }
  }
}

function specOf(run: Run): RunSpec {
  const { limits, locale, artifactBytes, artifactCount, startWithinMs, ...plain } = run;
  if (!limits) throw new RunnerError('sandbox_unavailable', 'a run without limits');
  return {
    ...plain,
    limits,
    artifacts: { maxBytes: artifactBytes, maxCount: artifactCount },
    startBefore: Date.now() + startWithinMs,
    ...(locale === 'zh' || locale === 'en' ? { locale } : {}),
  };
}
