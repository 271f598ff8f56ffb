import type { ServerDuplexStream } from '@grpc/grpc-js';
import {
  type AttachRequest,
  type AttachResponse,
  type Content,
  Fault,
  type ProbeResult,
  type Report,
  type Run,
} from '@moli/rpc';
import { log } from '@moli/telemetry';
import type * as z from 'zod';
import {
  type ArtifactHead,
  type ContentLink,
  type DisplayHead,
  type RunContent,
  RunnerError,
  type RunnerFault,
  type RunSink,
  type RunSpec,
} from '../runner.ts';
import { Artifact, Display, parseMessage, present, Result, type SlotResult } from '../slot/slot.messages.ts';
import type { PodRef } from './pod.checks.ts';

/** After a cancel the courier has this long to report; the sandbox itself takes at most 400 ms. */
const CANCEL_MS = 1_000;
/** Beyond the deadline that the sandbox keeps: collecting artifacts ends by its own bound of 60 s. */
const COLLECT_GRACE_MS = 70_000;
/** A content that nobody stores or drops does not hold its Pod for longer. */
const CONTENT_MS = 300_000;

const FAULTS: Record<Fault, RunnerFault> = {
  [Fault.UNSPECIFIED]: 'sandbox_lost',
  [Fault.SANDBOX_UNAVAILABLE]: 'sandbox_unavailable',
  [Fault.SANDBOX_LOST]: 'sandbox_lost',
  [Fault.INPUT_UNAVAILABLE]: 'input_unavailable',
  [Fault.INPUT_ALTERED]: 'input_altered',
};

type Stream = ServerDuplexStream<AttachRequest, AttachResponse>;
type Incoming = AttachRequest['message'];
type Outgoing = NonNullable<AttachResponse['message']>;

/** What a courier reported of its run. */
export interface CourierRun {
  readonly result: SlotResult;
  readonly claimMs: number;
}

interface Running {
  readonly sink: RunSink;
  readonly end: PromiseWithResolvers<CourierRun>;
  started: boolean;
}

/** The executor's end of one courier's stream. */
export class HeldCourier {
  readonly pod: PodRef;
  /** Where neighbours may try to reach it. */
  readonly canary: string;
  /** Settles when the run is over and none of its contents is needed, or the stream is gone. */
  readonly released: Promise<void>;
  readonly #stream: Stream;
  readonly #release = Promise.withResolvers<void>();
  readonly #storing = new Map<number, { resolve(): void; reject(error: Error): void }>();
  readonly #held = new Set<number>();
  #running: Running | null = null;
  #probing: ((probes: readonly ProbeResult[]) => void) | null = null;
  /** The display or artifact that the sink is taking. */
  #taking: Promise<void> = Promise.resolve();
  #ended = false;
  #gone = false;

  constructor(pod: PodRef, canaryPort: number, stream: Stream) {
    this.pod = pod;
    this.canary = pod.ip.includes(':') ? `[${pod.ip}]:${canaryPort}` : `${pod.ip}:${canaryPort}`;
    this.#stream = stream;
    this.released = this.#release.promise;
  }

  /** Whether its stream still stands. */
  get there(): boolean {
    return !this.#gone;
  }

  welcome(): void {
    this.#send({ $case: 'welcome', value: {} });
  }

  /** Tells an idle courier to attach to another executor. */
  leave(): void {
    this.#send({ $case: 'leave', value: {} });
    this.end();
  }

  end(): void {
    if (!this.#gone) this.#stream.end();
  }

  /** Has it try its walls again, those of its neighbours, and what else is forbidden (address:port). Null: it did not answer. */
  async probe(
    neighbours: readonly string[],
    forbidden: readonly string[],
    timeoutMs: number,
  ): Promise<readonly ProbeResult[] | null> {
    const { promise, resolve } = Promise.withResolvers<readonly ProbeResult[] | null>();
    this.#probing = resolve;
    const timer = setTimeout(() => resolve(null), timeoutMs);
    this.#send({ $case: 'probe', value: { neighbours: [...neighbours], forbidden: [...forbidden] } });
    return promise.finally(() => clearTimeout(timer));
  }

  /**
   * The one run of its Pod. Throws RunnerError: `sandbox_unavailable` while user code has not begun, `sandbox_lost` afterwards, `input_…`;
   * and whatever the sink throws.
   */
  async run(spec: RunSpec, sink: RunSink, signal: AbortSignal): Promise<CourierRun> {
    const running: Running = { sink, end: Promise.withResolvers<CourierRun>(), started: false };
    this.#running = running;
    const lose = (why: string): void => running.end.reject(this.#lost(why));
    const startWithinMs = Math.max(0, spec.startBefore - Date.now());
    const watchdog = setTimeout(
      () => lose('the courier did not report in time'),
      startWithinMs + spec.limits.wallSeconds * 1_000 + COLLECT_GRACE_MS,
    );
    let cut: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      this.#send({ $case: 'cancel', value: {} });
      cut = setTimeout(() => lose('the courier did not answer a cancel'), CANCEL_MS);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      if (this.#gone) lose('the courier is gone');
      this.#send({ $case: 'run', value: runOf(spec, startWithinMs) });
      if (signal.aborted) cancel();
      return await running.end.promise;
    } catch (error) {
      // Whatever it was, nothing more is wanted from this Pod.
      this.end();
      this.#release.resolve();
      throw error;
    } finally {
      clearTimeout(watchdog);
      clearTimeout(cut);
      signal.removeEventListener('abort', cancel);
      this.#ended = true;
      this.#releaseIfDone();
      setTimeout(() => this.#release.resolve(), CONTENT_MS).unref();
    }
  }

  /** Reads the stream to its end. Called once. */
  async serve(messages: AsyncIterable<AttachRequest>): Promise<void> {
    try {
      for await (const { message } of messages) {
        const wait = this.#take(message);
        // While a sink is not ready for more output nothing is read: flow control then holds the program back.
        if (wait) await wait;
      }
    } catch (error) {
      if (this.#running && !this.#ended) log.warn('a courier was lost under its run', { pod: this.pod.name, error });
    } finally {
      this.#gone = true;
      this.#running?.end.reject(this.#lost('the courier is gone'));
      for (const { reject } of this.#storing.values()) reject(new Error('the courier that held it is gone'));
      this.#probing?.([]);
      this.#release.resolve();
      this.#stream.end();
    }
  }

  #take(message: Incoming): Promise<void> | void {
    switch (message?.$case) {
      case 'stored': {
        const { contentId, fault } = message.value;
        const storing = this.#storing.get(contentId);
        this.#storing.delete(contentId);
        if (fault) storing?.reject(new Error(fault));
        else storing?.resolve();
        return;
      }
      case 'probed':
        this.#probing?.(message.value.probes);
        return;
      default:
        return this.#ofRun(message);
    }
  }

  #ofRun(message: Incoming): Promise<void> | void {
    const running = this.#running;
    if (!running || this.#ended) return;
    try {
      const wait = this.#handle(message, running);
      return wait?.catch((error: unknown) => running.end.reject(error));
    } catch (error) {
      running.end.reject(error);
    }
  }

  #handle(message: Incoming, { sink, end }: Running): Promise<void> | undefined {
    switch (message?.$case) {
      case 'started':
        this.#running!.started = true;
        sink.started(message.value.stageMs);
        return undefined;
      case 'output':
        return sink.output(message.value.error ? 'stderr' : 'stdout', message.value.data) ?? undefined;
      case 'display': {
        const head = present<DisplayHead>(this.#parsed(Display, message.value.head));
        const content = message.value.content ? this.#content(message.value.content) : null;
        return this.#hand(async () => sink.display(head, content), content !== null);
      }
      case 'artifact': {
        const head = present<ArtifactHead>(this.#parsed(Artifact, message.value.head));
        if (!message.value.content) throw this.#lost('the courier announced an artifact without its content');
        const content = this.#content(message.value.content);
        return this.#hand(async () => sink.artifact(head, content), true);
      }
      case 'report':
        void this.#taking.then(() => end.resolve(this.#runOf(message.value))).catch(end.reject);
        return undefined;
      case 'failure':
        end.reject(new RunnerError(FAULTS[message.value.fault], message.value.message));
        return undefined;
      default:
        throw this.#lost('the courier sent a message out of place');
    }
  }

  /**
   * Gives something shown or made to the sink. With a content the courier waits for the accept, and the stream is read on meanwhile: the sink
   * may have the content stored at once, and that answer comes on the same stream.
   */
  #hand(give: () => Promise<void>, withContent: boolean): Promise<void> | undefined {
    const taking = give();
    if (!withContent) return taking;
    this.#taking = taking.then(() => this.#send({ $case: 'accept', value: {} }));
    this.#taking.catch((error: unknown) => this.#running?.end.reject(error));
    return undefined;
  }

  #content({ id, bytes, sha256 }: Content): RunContent {
    this.#held.add(id);
    return {
      bytes,
      sha256,
      store: (link) => this.#store(id, link),
      drop: async () => {
        if (!this.#held.delete(id)) return;
        this.#send({ $case: 'drop', value: { contentId: id } });
        this.#releaseIfDone();
      },
    };
  }

  async #store(id: number, link: ContentLink): Promise<void> {
    if (this.#gone) throw new Error('the courier that held it is gone');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#storing.set(id, { resolve, reject });
    const { putUrl, putHeaders, getUrl } = link;
    this.#send({ $case: 'store', value: { contentId: id, putUrl, putHeaders: { ...putHeaders }, getUrl } });
    await promise;
  }

  #runOf({ result, claimMs }: Report): CourierRun {
    return { result: this.#parsed(Result, result), claimMs: Math.max(0, claimMs) };
  }

  #parsed<S extends z.ZodType>(schema: S, json: string): z.output<S> {
    try {
      return parseMessage(schema, json);
    } catch (error) {
      throw this.#lost(`what the courier sent ${(error as Error).message}`);
    }
  }

  #lost(why: string): RunnerError {
    return new RunnerError(this.#running?.started ? 'sandbox_lost' : 'sandbox_unavailable', why);
  }

  #releaseIfDone(): void {
    if (this.#ended && this.#held.size === 0) this.#release.resolve();
  }

  #send(message: Outgoing): void {
    // Small and few: a stream that is not writable any more is seen by its reader.
    if (!this.#gone && this.#stream.writable) this.#stream.write({ message });
  }
}

function runOf(spec: RunSpec, startWithinMs: number): Run {
  const { runId, code, filename, limits, artifacts, files, locale } = spec;
  return {
    runId,
    code,
    filename,
    limits,
    artifactBytes: artifacts.maxBytes,
    artifactCount: artifacts.maxCount,
    files: files.map(({ name, bytes, sha256, url }) => ({ name, bytes, sha256, url })),
    locale: locale ?? '',
    startWithinMs,
  };
}
