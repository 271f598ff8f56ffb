import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FileStore } from '@tus/file-store';
import type { Upload } from '@tus/server';
import { isId } from '../ids.ts';
import { FINISHED_KEPT_MS, type UploadSpool } from './upload-spool.ts';

/** Uploads as files of one folder, for one gateway on one machine. */
export class FolderSpool implements UploadSpool {
  readonly datastore: FileStore;
  readonly prefix = '';
  readonly #directory: string;
  readonly #expiryMs: number;

  constructor(directory: string, expiryMs: number) {
    this.#directory = directory;
    this.#expiryMs = expiryMs;
    this.datastore = new FileStore({ directory, expirationPeriodInMilliseconds: expiryMs });
  }

  async open(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
  }

  async close(): Promise<void> {}

  withFile<T>(upload: Upload, work: (path: string) => Promise<T>): Promise<T> {
    return work(join(this.#directory, upload.id));
  }

  async sweep(now: number): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#directory)) {
      if (!isId('upl', name)) continue;
      const upload = await this.datastore.getUpload(name).catch(() => null);
      if (!upload) continue;
      const { mtimeMs } = await stat(join(this.#directory, name));
      const born = upload.creation_date ? Date.parse(upload.creation_date) : mtimeMs;
      const finished = upload.offset === upload.size && now - mtimeMs > FINISHED_KEPT_MS;
      if (!finished && now - born <= this.#expiryMs) continue;
      await this.datastore.remove(name);
      removed += 1;
    }
    return removed;
  }
}
