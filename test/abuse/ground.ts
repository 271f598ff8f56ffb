import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import type { Needle } from './needles.ts';

/** What the books of a Moli say; read past its doors. */
export interface Books {
  /** Audited actions on a target, in order. */
  audited(target: string): Promise<string[]>;
  /** Objects that no row knows, and rows whose object is missing. */
  strayObjects(): Promise<string[]>;
}

/** Where the Moli under attack runs: one machine, or a cluster. Everything else of the abuse cases is the same. */
export interface Ground {
  readonly api: ApiClient;
  /** Another tenant of the same Moli. */
  readonly neighbour: ApiClient;
  readonly books: Books;
  readonly needles: readonly Needle[];
  /** What `{{ports}}`, `{{pids}}` and `{{dataDir}}` in a program stand for. */
  readonly words: Readonly<Record<string, string>>;
  /**
   * A sandbox is a machine's work of seconds and used once: cases run side by side, what they left is looked at when all are over, and only cases
   * with a word on the run after them have one.
   */
  readonly costly: boolean;
  /** What runs left behind on the machines, in words; empty when all is as it was. */
  leftBehind(): string[] | Promise<string[]>;
  close(): Promise<void>;
}
