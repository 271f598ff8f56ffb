import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type ContentLink, type RunContent, RunnerError } from '../runner.ts';
import type { LinkClient } from './link.client.ts';

/** Bodies up to this size stay in memory until they are uploaded. */
const IN_MEMORY_BYTES = 256 * 1024;
/** Of one run's bodies together; beyond it they go to disk whatever their size. */
const IN_MEMORY_TOTAL_BYTES = 2 * 1024 * 1024;

/** The bytes of an artifact between the sandbox and the object store. */
interface HeldBody {
  readonly bytes: number;
  readonly sha256: string;
  /** From the beginning, as often as needed. */
  read(): Buffer | Readable;
  /** Gives memory or disk back. */
  drop(): Promise<void>;
}

/** Keeps what one run made until it is stored: small bodies in memory, others in a folder that only we can read. */
export class Outbox {
  readonly #folder: string;
  readonly #links: LinkClient;
  #inMemory = 0;

  constructor(folder: string, links: LinkClient) {
    this.#folder = folder;
    this.#links = links;
  }

  /** Empties the folder of everything that an earlier process left. */
  static async prepare(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }

  /** Takes exactly `bytes`; `sha256` is computed here, and compared where the sandbox has said one. */
  async take(body: AsyncIterable<Uint8Array>, bytes: number, sha256?: string): Promise<RunContent> {
    const small = bytes <= IN_MEMORY_BYTES && this.#inMemory + bytes <= IN_MEMORY_TOTAL_BYTES;
    const held = small ? await this.#intoMemory(body, bytes) : await this.#intoFile(body, bytes);
    if (held.bytes !== bytes || (sha256 !== undefined && held.sha256 !== sha256)) {
      await held.drop();
      throw new RunnerError('sandbox_lost', 'a body is not what the sandbox announced');
    }
    return {
      bytes,
      sha256: held.sha256,
      store: (link: ContentLink) => this.#links.store(link, held),
      drop: held.drop,
    };
  }

  async #intoMemory(body: AsyncIterable<Uint8Array>, bytes: number): Promise<HeldBody> {
    this.#inMemory += bytes;
    const content = Buffer.allocUnsafe(bytes);
    let used = 0;
    for await (const chunk of body) {
      content.set(chunk, used);
      used += chunk.byteLength;
    }
    return {
      bytes: used,
      sha256: createHash('sha256').update(content).digest('hex'),
      read: () => content,
      drop: async () => {
        this.#inMemory -= bytes;
      },
    };
  }

  async #intoFile(body: AsyncIterable<Uint8Array>, bytes: number): Promise<HeldBody> {
    const path = join(this.#folder, randomBytes(16).toString('hex'));
    const hash = createHash('sha256');
    let used = 0;
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const chunk of body) {
        used += chunk.byteLength;
        if (used > bytes) break;
        hash.update(chunk);
        await file.write(chunk);
      }
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return {
      bytes: used,
      sha256: hash.digest('hex'),
      read: () => createReadStream(path),
      drop: () => rm(path, { force: true }),
    };
  }
}
