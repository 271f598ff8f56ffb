import { createHash } from 'node:crypto';
import type { Failure, RunJob } from '@moli/queue';
import { type Dispatcher, request } from 'undici';
import { metrics } from '../metrics.ts';
import type { RunInput } from '../runner/runner.ts';

/** A run that the platform has to end, with the reason that people are told. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly failure: Failure;
  constructor(failure: Failure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** An input of a job, read through its signed link when the sandbox is there to take it. */
export function linkedInput(file: RunJob['files'][number], dispatcher: Dispatcher, signal: AbortSignal): RunInput {
  return { name: file.name, bytes: file.bytes, open: () => verified(fetched(file, dispatcher, signal), file) };
}

async function* fetched(
  file: RunJob['files'][number],
  dispatcher: Dispatcher,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    const answer = await request(file.url, { dispatcher, signal });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new Error(`the object store answered ${answer.statusCode}`);
    }
    for await (const chunk of answer.body) yield chunk as Uint8Array;
  } catch (error) {
    // The link is in the error of some failures and must not reach a log: the cause is dropped.
    const what = error instanceof Error ? `${error.name} ${(error as { code?: string }).code ?? ''}` : 'unknown';
    throw new RunFailure('input_unavailable', `an input could not be fetched: ${what.trim()}`);
  }
}

/**
 * Lets bytes through and holds the newest piece back until size and digest are known to be right, so that a sandbox never has the whole of an
 * altered or short file and never starts on it.
 */
async function* verified(
  source: AsyncIterable<Uint8Array>,
  expected: { bytes: number; sha256: string },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  let held: Uint8Array | null = null;
  for await (const chunk of source) {
    if (chunk.byteLength === 0) continue;
    bytes += chunk.byteLength;
    if (bytes > expected.bytes) break;
    hash.update(chunk);
    if (held) yield held;
    held = chunk;
  }
  if (bytes !== expected.bytes) throw new RunFailure('input_altered', 'an input is not as long as recorded');
  if (hash.digest('hex') !== expected.sha256)
    throw new RunFailure('input_altered', 'an input has another digest than recorded');
  metrics.inputBytes.inc(bytes);
  if (held) yield held;
}
