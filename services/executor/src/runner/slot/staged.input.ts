import { createHash } from 'node:crypto';
import { type RunInput, RunnerError } from '../runner.ts';
import type { LinkClient } from './link.client.ts';

/** An input read through its signed link; ends in an error when it is not what was recorded. */
export function stagedInput(input: RunInput, links: LinkClient, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  return verified(fetched(input, links, signal), input);
}

async function* fetched(input: RunInput, links: LinkClient, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* links.read(input.url, signal);
  } catch (error) {
    throw new RunnerError('input_unavailable', 'an input could not be fetched', { cause: error });
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
  if (bytes !== expected.bytes) throw new RunnerError('input_altered', 'an input is not as long as recorded');
  if (hash.digest('hex') !== expected.sha256)
    throw new RunnerError('input_altered', 'an input has another digest than recorded');
  if (held) yield held;
}
