import { DEFAULT_LIMITS, type RunLimits } from '@moli/queue';
import type { ExecuteRequest } from './runs.schema.ts';

/** What one run may leave behind. */
export const MAX_ARTIFACTS = 100;
export const MAX_ARTIFACT_BYTES = 100 * 1024 * 1024;

/** A run that no executor took for this long is not started any more, in milliseconds. */
export const QUEUE_WAIT_MS = 120_000;

/** Collecting and uploading after the wall limit, before the row counts as abandoned; milliseconds. */
export const COLLECT_WAIT_MS = 120_000;

/** Runs that may wait or run at once in the whole installation. */
export const MAX_OPEN_RUNS = 1_000;

/** Files of earlier runs that a later run of the session finds; uploads come always. */
export const MAX_EARLIER_FILES = 200;

/** The limits of a run: what was asked for, else the defaults. A longer wall time brings the CPU time along. */
export function limitsOf(asked: ExecuteRequest['limits'] = {}): RunLimits {
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  const wallSeconds = asked.wallSeconds ?? DEFAULT_LIMITS.wallSeconds;
  return { ...DEFAULT_LIMITS, cpuSeconds: wallSeconds, ...given };
}

/** Bounds of the installation; a class so that tests can set others. */
export class RunBounds {
  readonly maxOpen: number;

  constructor(maxOpen: number = MAX_OPEN_RUNS) {
    this.maxOpen = maxOpen;
  }
}
