import http from 'node:http';
import https from 'node:https';
import type { Client } from 'minio';
import { makeClient, type S3Options } from './s3-client.ts';
import { S3Unavailable } from './s3-fault.ts';
import { retrying } from './s3-retry.ts';

/** Difference of clocks from which servers refuse signatures; S3 itself allows 15 minutes, others five. */
const SKEW_MS = 4 * 60_000;
const CLOCK_ANSWER_MS = 3_000;

/** The one way to the server: a client for one bucket, with retries and with errors that say what to do. */
export class S3Door {
  readonly options: S3Options;
  readonly client: Client;
  readonly bucket: string;

  constructor(options: S3Options) {
    this.options = options;
    this.client = makeClient(options, options.endpoint);
    this.bucket = options.bucket;
  }

  /** Errors: `S3Unavailable`, and whatever refusal of ours `work` throws. */
  async run<T>(work: (client: Client, attempt: number) => Promise<T>, tries?: number): Promise<T> {
    try {
      return await retrying((attempt) => work(this.client, attempt), tries);
    } catch (error) {
      // The answer to HEAD has no body, so a refused signature looks like a missing right there; wrong clocks are a common reason.
      const doubtful = error instanceof S3Unavailable && (error.fault === 'no_access' || error.fault === 'wrong_key');
      if (doubtful && Math.abs(await this.#clockDifference()) > SKEW_MS)
        throw new S3Unavailable('clock', { cause: error.cause });
      throw error;
    }
  }

  /** Milliseconds that the server's clock is ahead of ours, from the `Date` of an answer; 0 where it does not say. */
  #clockDifference(): Promise<number> {
    const secure = this.options.endpoint.startsWith('https:');
    const { ca } = this.options;
    return new Promise((resolve) => {
      const request = (secure ? https : http).get(
        this.options.endpoint,
        { timeout: CLOCK_ANSWER_MS, agent: false, ...(ca === undefined ? {} : { ca }) },
        (response) => {
          response.resume();
          const theirs = Date.parse(response.headers.date ?? '');
          resolve(Number.isNaN(theirs) ? 0 : theirs - Date.now());
        },
      );
      request.once('timeout', () => request.destroy());
      request.once('error', () => resolve(0));
      request.once('close', () => resolve(0));
    });
  }
}
