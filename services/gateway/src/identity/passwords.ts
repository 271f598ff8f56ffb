import { hash, verify } from '@node-rs/argon2';

/** Hashes at once. Each takes 19 MiB and a thread of the pool that file access needs too; the rest waits its turn. */
const AT_ONCE = 2;
/** Attempts that may wait; more are refused, or a flood of sign-ins would hold everyone's memory and time. */
const WAITING = 64;

let running = 0;
const waiting: (() => void)[] = [];

/** Whether so many passwords wait to be checked that another attempt should come back later. Ask before starting one. */
export function passwordsBusy(): boolean {
  return waiting.length >= WAITING;
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

/** argon2id with 19 MiB and two passes (the OWASP minimum; about 20 ms), as a PHC string. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 }));
}

export function verifyPassword({ hash: expected, password }: { hash: string; password: string }): Promise<boolean> {
  return inTurn(() => verify(expected, password));
}
