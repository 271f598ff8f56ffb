import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { z } from 'zod';
import {
  type ArtifactHead,
  type DisplayHead,
  type RunContent,
  type RunInput,
  RunnerError,
  type RunSink,
  type RunSpec,
} from '../runner.ts';
import { ChunkReader } from './chunk.reader.ts';
import { encodeFrame, type Frame, FrameDecoder, FrameError, pieces } from './frame.ts';
import type { LinkClient } from './link.client.ts';
import { Outbox } from './outbox.ts';
import { Artifact, Display, parseMessage, present, Result, type SlotResult, Started } from './slot.messages.ts';
import { stagedInput } from './staged.input.ts';

/** Of all text and tables that one run shows. */
const DISPLAY_BYTES = 8 * 1024 * 1024;
/** Of one run: what the monitor sends at most (PROTOCOL.md). */
const MAX_DISPLAYS = 100;
/** After a cancel frame the monitor has this long to answer before the connection is cut, which ends the sandbox as well. */
const CANCEL_GRACE_MS = 400;
/** Beyond the deadline that the monitor keeps: collecting artifacts ends by its own bound. */
const COLLECT_GRACE_MS = 60_000;

/** Where a run finds its sandbox, and where what it makes waits to be stored. */
export interface SlotPlace {
  readonly socketPath: string;
  /** A folder that exists and that only we can read. */
  readonly outboxDir: string;
  readonly links: LinkClient;
}

/** One run over one connection to the zygote: `claimMs` is the time until a slot had taken it, without staging. */
export interface SlotRun {
  readonly result: SlotResult;
  readonly claimMs: number;
}

/**
 * Sends the job and its files, feeds what comes back into the sink, and returns the result. The connection is one sandbox: it ends with it.
 * Throws RunnerError: `input_…` where an input is not what it should be, `sandbox_unavailable` while user code has not begun, `sandbox_lost`
 * afterwards; and whatever the sink throws.
 */
export async function runInSlot(
  { socketPath, outboxDir, links }: SlotPlace,
  spec: RunSpec,
  sink: RunSink,
  signal: AbortSignal,
): Promise<SlotRun> {
  const connectedAt = performance.now();
  const { socket, reader } = await connect(socketPath);
  const staging = new AbortController();
  const end = (): void => {
    staging.abort();
    socket.destroy();
  };
  const watchdog = setTimeout(end, spec.startBefore - Date.now() + spec.limits.wallSeconds * 1_000 + COLLECT_GRACE_MS);
  let cut: NodeJS.Timeout | undefined;
  const cancel = (): void => {
    socket.write(encodeFrame('C'));
    cut = setTimeout(end, CANCEL_GRACE_MS);
  };
  signal.addEventListener('abort', cancel, { once: true });
  let startedAt: number | null = null;
  let stageMs = 0;
  let inputFault: unknown;
  const sent = send(socket, spec, (file) => stagedInput(file, links, staging.signal)).catch((error: unknown) => {
    if (!staging.signal.aborted) inputFault = error;
    end();
  });
  try {
    if (signal.aborted) cancel();
    const result = await receive(reader, sink, new Outbox(outboxDir, links), new Allowance(spec), (started) => {
      startedAt = performance.now();
      stageMs = started.stageMs;
      sink.started(stageMs);
    });
    return { result, claimMs: Math.max(0, (startedAt ?? performance.now()) - connectedAt - stageMs) };
  } catch (error) {
    if (inputFault) throw inputFault;
    if (error instanceof LostConnection) {
      throw new RunnerError(startedAt === null ? 'sandbox_unavailable' : 'sandbox_lost', error.message, {
        cause: error,
      });
    }
    throw error;
  } finally {
    clearTimeout(watchdog);
    clearTimeout(cut);
    signal.removeEventListener('abort', cancel);
    end();
    await sent;
  }
}

interface SlotSocket {
  readonly socket: Socket;
  readonly reader: ChunkReader;
}

async function connect(path: string): Promise<SlotSocket> {
  const reader = new ChunkReader();
  const socket = createConnection({ path, onread: reader.onread });
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new RunnerError('sandbox_unavailable', 'the zygote does not answer', { cause: error });
  }
  reader.attach(socket);
  return { socket, reader };
}

/** The job frame and then the files' bytes back to back; waits whenever the other side is not reading. */
async function send(socket: Socket, spec: RunSpec, open: (file: RunInput) => AsyncIterable<Uint8Array>): Promise<void> {
  const { limits, artifacts } = spec;
  const job = {
    runId: spec.runId,
    code: spec.code,
    filename: spec.filename,
    limits: {
      ...limits,
      artifactBytes: artifacts.maxBytes,
      artifactCount: artifacts.maxCount,
      displayBytes: DISPLAY_BYTES,
    },
    files: spec.files.map(({ name, bytes }) => ({ name, bytes })),
    ...(spec.locale ? { locale: spec.locale } : {}),
  };
  socket.write(encodeFrame('J', JSON.stringify(job)));
  for (const file of spec.files) {
    for await (const chunk of open(file)) {
      for (const piece of pieces(chunk)) {
        if (socket.destroyed) return;
        if (!socket.write(encodeFrame('D', piece))) await drained(socket);
      }
    }
  }
}

async function drained(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('drain', resolve);
  socket.once('close', resolve);
  await promise;
  socket.off('drain', resolve);
  socket.off('close', resolve);
}

/** The stream ended or broke before the result. */
class LostConnection extends Error {}

/** What a slot may still show and make. The monitor keeps the same bounds; this is for one that user code has broken, which could fill our disk. */
class Allowance {
  #bytes: number;
  #count: number;

  constructor({ artifacts }: RunSpec) {
    this.#bytes = artifacts.maxBytes + DISPLAY_BYTES;
    this.#count = artifacts.maxCount + MAX_DISPLAYS;
  }

  take(bytes: number): void {
    this.#bytes -= bytes;
    this.#count--;
    if (this.#bytes < 0 || this.#count < 0) throw new LostConnection('the slot made more than its run may');
  }
}

async function* frames(reader: ChunkReader): AsyncGenerator<Frame, undefined> {
  const decoder = new FrameDecoder();
  try {
    for (let chunk = await reader.next(); chunk; chunk = await reader.next()) yield* decoder.push(chunk);
  } catch (error) {
    if (error instanceof FrameError) throw new LostConnection('the slot broke the protocol', { cause: error });
    throw new LostConnection('the connection to the slot broke', { cause: error });
  }
  return undefined;
}

async function receive(
  reader: ChunkReader,
  sink: RunSink,
  outbox: Outbox,
  allowance: Allowance,
  onStarted: (started: z.infer<typeof Started>) => void,
): Promise<SlotResult> {
  const incoming = frames(reader);
  for (;;) {
    const { value: frame } = await incoming.next();
    if (!frame) throw new LostConnection('the slot closed before its result');
    switch (frame.type) {
      case 'S':
        onStarted(json(Started, frame));
        break;
      case 'O':
      case 'E': {
        const wait = sink.output(frame.type === 'O' ? 'stdout' : 'stderr', frame.payload);
        if (wait) await wait;
        break;
      }
      case 'P': {
        const head = present<DisplayHead>(json(Display, frame));
        allowance.take(head.bytes ?? 0);
        await sink.display(head, head.bytes === undefined ? null : await held(incoming, head.bytes, outbox));
        break;
      }
      case 'A': {
        const head = present<ArtifactHead>(json(Artifact, frame));
        allowance.take(head.bytes);
        await sink.artifact(head, await held(incoming, head.bytes, outbox, head.sha256));
        break;
      }
      case 'R':
        return json(Result, frame);
      default:
        throw new LostConnection(`the slot sent a frame of unknown type ${JSON.stringify(frame.type)}`);
    }
  }
}

/** Takes the `Q` frames that follow as one content, exactly `bytes` long. */
async function held(
  incoming: AsyncGenerator<Frame, undefined>,
  bytes: number,
  outbox: Outbox,
  sha256?: string,
): Promise<RunContent> {
  let left = bytes;
  async function* body(): AsyncGenerator<Uint8Array> {
    while (left > 0) {
      const { value: frame } = await incoming.next();
      if (!frame) throw new LostConnection('the slot closed inside a body');
      left -= frame.payload.byteLength;
      if (frame.type !== 'Q' || left < 0) throw new LostConnection('a body is not as long as announced');
      yield frame.payload;
    }
  }
  return outbox.take(body(), bytes, sha256);
}

function json<S extends z.ZodType>(schema: S, frame: Frame): z.output<S> {
  try {
    return parseMessage(schema, frame.payload.toString('utf8'));
  } catch (error) {
    throw new LostConnection(`frame ${frame.type} ${(error as Error).message}`, { cause: error });
  }
}
