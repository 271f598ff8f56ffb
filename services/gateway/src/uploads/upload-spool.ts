import type { DataStore, Locker, Upload } from '@tus/server';

/** How long a finished upload stays in the spool, so that a client whose last answer was lost still learns its file id. */
export const FINISHED_KEPT_MS = 10 * 60_000;

/** Where the pieces of uploads lie until they are complete: a folder of this machine, or the bucket that all gateways share. */
export interface UploadSpool {
  /** What the tus library writes to. Its ids are ours behind `prefix`. */
  readonly datastore: DataStore;
  readonly prefix: string;
  /** One writer an upload; absent where all requests come to one process. */
  readonly locker?: Locker;
  open(): Promise<void>;
  close(): Promise<void>;
  /** Gives `work` the whole upload as a file of this machine, for as long as it runs. */
  withFile<T>(upload: Upload, work: (path: string) => Promise<T>): Promise<T>;
  /** Removes uploads that expired or were finished a while ago; answers how many. */
  sweep(now: number): Promise<number>;
}
