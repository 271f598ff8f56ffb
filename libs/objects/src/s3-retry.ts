import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@moli/errors';
import { faultOf, S3Unavailable } from './s3-fault.ts';

/** Tries of one request in all. With the pauses below a server may be away for about two seconds. */
const TRIES = 5;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Does one request until it succeeds, fails for good or was tried `tries` times; `work` gets the number of the try. Our own refusals (the object is
 * not there, the key is taken) and faults that do not pass end it at once. Errors: `S3Unavailable`.
 */
export async function retrying<T>(work: (attempt: number) => Promise<T>, tries = TRIES): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (error instanceof AppError && !(error instanceof S3Unavailable)) throw error;
      const fault = faultOf(error);
      if (!fault.passing || attempt >= tries) throw fault;
      await pause(attempt, fault.retryAfterSeconds);
    }
  }
}

/** Grows from 0.1 s with a part of it at random, so that many callers do not come back at the same moment. */
export async function pause(attempt: number, askedSeconds = 0): Promise<void> {
  const grown = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
  await delay(Math.min(Math.max(grown, askedSeconds * 1000), LONGEST_PAUSE_MS));
}
