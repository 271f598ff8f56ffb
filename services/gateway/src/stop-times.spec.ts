import { expect, test } from 'vitest';
import { stopTimes } from './stop-times.ts';

test.each([
  // One machine: `./moli down` has five seconds for everything.
  [5, { goodbyeMs: 0, turnsMs: 3_750, requestsMs: 4_000 }],
  [10, { goodbyeMs: 2_000, turnsMs: 6_000, requestsMs: 9_000 }],
  [60, { goodbyeMs: 12_000, turnsMs: 43_000, requestsMs: 59_000 }],
  [330, { goodbyeMs: 20_000, turnsMs: 305_000, requestsMs: 329_000 }],
])('%i seconds for the stop', (shutdownSeconds, times) => {
  expect(stopTimes({ shutdownSeconds })).toEqual(times);
});
