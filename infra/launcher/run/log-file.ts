import { closeSync, mkdirSync, openSync, renameSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

// 10 MiB holds days of an idle service; with three older ones a service can't take more than 40 MiB of disk.
const MAX_BYTES = 10 * 1024 * 1024;
const KEPT = 3;

/** A log that is turned over by size: `name.log`, `name.log.1` … `name.log.3`. Written at once, so that a crash loses nothing. */
export class LogFile {
  readonly path: string;
  #fd: number;
  #bytes: number;
  /** The end of what was written, to show when a service fails. */
  #tail = '';

  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.path = join(folder, `${name}.log`);
    this.#fd = openSync(this.path, 'a', 0o600);
    this.#bytes = statSync(this.path).size;
  }

  write = (chunk: Buffer | string): void => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (this.#bytes + bytes.length > MAX_BYTES && this.#bytes > 0) this.#turnOver();
    writeSync(this.#fd, bytes);
    this.#bytes += bytes.length;
    this.#tail = (this.#tail + bytes.toString('utf8')).slice(-4_000);
  };

  lastLines(count: number): string[] {
    return this.#tail.trimEnd().split('\n').slice(-count);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #turnOver(): void {
    closeSync(this.#fd);
    for (let n = KEPT; n >= 1; n -= 1) {
      const older = n === 1 ? this.path : `${this.path}.${n - 1}`;
      try {
        if (n === KEPT) unlinkSync(`${this.path}.${KEPT}`);
      } catch {
        // There is no oldest one yet.
      }
      try {
        renameSync(older, `${this.path}.${n}`);
      } catch {
        // There is none of that age yet.
      }
    }
    this.#fd = openSync(this.path, 'a', 0o600);
    this.#bytes = 0;
  }
}
