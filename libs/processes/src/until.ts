import { setTimeout as delay } from 'node:timers/promises';

interface Options {
  /** What is waited for, for the error. */
  readonly what: string;
  /** 10,000 when absent. */
  readonly timeoutMs?: number;
  /** First pause between two looks; it grows to 250 ms. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
}

/** Looks again and again until `look` answers a value other than undefined or false; throws when `timeoutMs` have passed. */
export async function until<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  options: Options,
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? 10_000;
  const deadline = Date.now() + timeoutMs;
  let pause = options.everyMs ?? 10;
  for (;;) {
    options.signal?.throwIfAborted();
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (Date.now() >= deadline) throw new Error(`${options.what}: not so after ${timeoutMs} ms`);
    await delay(pause, undefined, options.signal ? { signal: options.signal } : {});
    pause = Math.min(250, pause * 1.5);
  }
}
