/** How the time that a gateway has for its stop is divided. All in milliseconds. */
export interface StopTimes {
  /** Longest time for clients to go to another gateway, while everything is served here. */
  readonly goodbyeMs: number;
  /** After it: how long running turns may go on before they are ended as interrupted. */
  readonly turnsMs: number;
  /** From the beginning: when requests that are still under way are given up, to close pools and queues. */
  readonly requestsMs: number;
}

/** With less for the whole stop nobody waits for another gateway: one machine has only this one. */
const LONG_STOP_MS = 10_000;
/** A client that did not use its connection for so long hardly takes it up at the moment when it is closed. */
const GOODBYE_MS = 20_000;
const GOODBYE_SHARE = 0.2;
const TURNS_SHARE = 0.75;
/** To write down what interrupted turns said. */
const LAST_MS = 5_000;
const CLOSING_MS = 1_000;

/** `shutdownSeconds` as configured. */
export function stopTimes({ shutdownSeconds }: { readonly shutdownSeconds: number }): StopTimes {
  const whole = shutdownSeconds * 1_000;
  const goodbyeMs = whole < LONG_STOP_MS ? 0 : Math.min(GOODBYE_MS, GOODBYE_SHARE * whole);
  const rest = whole - goodbyeMs;
  return { goodbyeMs, turnsMs: Math.max(TURNS_SHARE * rest, rest - LAST_MS), requestsMs: whole - CLOSING_MS };
}
