import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, link, mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import type { Content } from './content-meter.ts';
import { deleteBelow, isGone, removeEmpty, unlinkIfThere, walkObjects } from './folder-walk.ts';
import { expiry, type LinkGrant, linkInvalid, readLink, requireSignable, signPath } from './link-signature.ts';
import { boundedRange, keyTaken, objectNotFound } from './object-errors.ts';
import { ObjectReadable, readTrailer, writeObject } from './object-file.ts';
import { requireKey, requirePrefix } from './object-key.ts';
import type {
  ByteRange,
  LinkReach,
  ObjectPage,
  ObjectStore,
  OpenObject,
  PutExpectation,
  SignedLink,
  SignedPut,
  SignGetOptions,
  SignPutOptions,
  StoredObject,
} from './object-store.ts';

/** Unfinished bodies; the dot keeps the folder out of the alphabet of keys. On the same file system as the objects, so rename is atomic. */
const TEMPORARY = '.unfinished';
const LARGEST_PAGE = 1000;
/** A folder can be pruned by a delete between its making and the rename into it; each try makes it again. */
const PUBLISH_TRIES = 10;

export interface FolderObjectStoreOptions {
  /** Made with mode 0700 by `open()`. */
  readonly directory: string;
  /** Key of the links' HMAC, at least 32 bytes. */
  readonly secret: Uint8Array;
  /** Where browsers reach the gateway, such as `http://127.0.0.1:8000`. */
  readonly publicUrl: string;
  /** Where our own services reach it; the public address by default. */
  readonly internalUrl?: string;
  readonly now?: () => Date;
}

/** Objects as files of one folder, with links that a gateway serves (`answerLink`). */
export class FolderObjectStore implements ObjectStore {
  readonly kind = 'folder';
  readonly #root: string;
  readonly #secret: Uint8Array;
  readonly #urls: Readonly<Record<LinkReach, string>>;
  readonly #now: () => Date;

  constructor(options: FolderObjectStoreOptions) {
    if (options.secret.byteLength < 32) throw new Error('the secret of object links needs at least 32 bytes');
    this.#root = resolve(options.directory);
    this.#secret = options.secret;
    const publicUrl = options.publicUrl.replace(/\/+$/, '');
    this.#urls = { public: publicUrl, internal: (options.internalUrl ?? publicUrl).replace(/\/+$/, '') };
    this.#now = options.now ?? (() => new Date());
  }

  /** Makes the folder and closes it to other users of the machine. Call once before anything else. */
  async open(): Promise<void> {
    await mkdir(join(this.#root, TEMPORARY), { recursive: true, mode: 0o700 });
    await chmod(this.#root, 0o700);
    await chmod(join(this.#root, TEMPORARY), 0o700);
  }

  async check(): Promise<void> {
    await stat(join(this.#root, TEMPORARY));
  }

  async put(key: string, body: Uint8Array | Readable, expected: PutExpectation = {}): Promise<StoredObject> {
    const path = this.#pathOf(key);
    // A stream can fail while the file is still being opened, when nobody listens; its reader below gets the same error.
    if (body instanceof Readable) body.on('error', () => {});
    if (expected.ifAbsent && (await this.stat(key))) throw keyTaken(key);
    const temporary = join(this.#root, TEMPORARY, randomUUID());
    const handle = await open(temporary, 'wx', 0o600);
    try {
      let content: Content;
      try {
        content = await writeObject(handle, body, expected);
      } finally {
        await handle.close();
      }
      await this.#publish(temporary, path, key, expected.ifAbsent === true);
      return { key, ...content };
    } finally {
      await unlinkIfThere(temporary);
    }
  }

  async get(key: string, range?: ByteRange): Promise<OpenObject> {
    const handle = await this.#openFile(key);
    if (!handle) throw objectNotFound(key);
    try {
      const content = await readTrailer(handle, key);
      const positions = boundedRange(range, content.bytes);
      return { key, ...content, range: positions, stream: new ObjectReadable(handle, key, content, positions) };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async stat(key: string): Promise<StoredObject | null> {
    const handle = await this.#openFile(key);
    if (!handle) return null;
    try {
      return { key, ...(await readTrailer(handle, key)) };
    } finally {
      await handle.close();
    }
  }

  async list(prefix: string, options: { limit?: number; after?: string } = {}): Promise<ObjectPage> {
    requirePrefix(prefix, true);
    const limit = Math.min(Math.max(Math.floor(options.limit ?? LARGEST_PAGE), 1), LARGEST_PAGE);
    const items = [];
    for await (const item of walkObjects(this.#root, prefix, options.after ?? '')) {
      // One more than the page: only then is it known that there is a next one.
      if (items.length === limit) return { items, next: items.at(-1)!.key };
      items.push(item);
    }
    return { items, next: null };
  }

  async delete(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await unlinkIfThere(path);
    await this.#prune(dirname(path));
  }

  async deletePrefix(prefix: string): Promise<number> {
    const path = join(this.#root, requirePrefix(prefix, false));
    const count = await deleteBelow(path);
    await this.#prune(dirname(path));
    return count;
  }

  async signGet(key: string, options: SignGetOptions): Promise<SignedLink> {
    const grant: LinkGrant = {
      method: 'GET',
      key: requireKey(key),
      ...(options.downloadName === undefined ? {} : { downloadName: options.downloadName }),
      ...(options.contentType === undefined ? {} : { contentType: options.contentType }),
    };
    return this.#sign(grant, options.expiresInSeconds, options.reach);
  }

  async signPut(key: string, options: SignPutOptions): Promise<SignedPut> {
    const { bytes, sha256, contentType } = options;
    const grant: LinkGrant = { method: 'PUT', key: requireKey(key), bytes, sha256, contentType };
    return { ...this.#sign(grant, options.expiresInSeconds, options.reach), headers: { 'content-type': contentType } };
  }

  /** What a link allows. Errors: `link_invalid` for tampered, expired, wrong method, or an upload link whose object is there. */
  async verifyLink(method: string, url: string): Promise<LinkGrant> {
    const grant = readLink(this.#secret, method, url, this.#now());
    if (grant.method === 'PUT' && (await this.stat(grant.key))) throw linkInvalid('used');
    return grant;
  }

  async sweepTemporary(olderThanSeconds: number): Promise<number> {
    const folder = join(this.#root, TEMPORARY);
    const before = this.#now().getTime() - olderThanSeconds * 1000;
    let count = 0;
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const age = await stat(path).catch((error: unknown) => {
        if (isGone(error)) return null;
        throw error;
      });
      if (age && age.mtimeMs <= before && (await unlinkIfThere(path))) count += 1;
    }
    return count;
  }

  #sign(grant: LinkGrant, expiresInSeconds: number, reach: LinkReach = 'public'): SignedLink {
    const expiresAt = expiry(expiresInSeconds, this.#now());
    return { url: this.#urls[reach] + signPath(this.#secret, requireSignable(grant), expiresAt), expiresAt };
  }

  #pathOf(key: string): string {
    return join(this.#root, requireKey(key));
  }

  /** Never follows a link: a link in this folder was not made by us. */
  async #openFile(key: string): Promise<FileHandle | null> {
    try {
      const handle = await open(this.#pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW);
      if ((await handle.stat()).isFile()) return handle;
      await handle.close();
      return null;
    } catch (error) {
      if (isGone(error) || (error as NodeJS.ErrnoException).code === 'ELOOP') return null;
      throw error;
    }
  }

  async #publish(temporary: string, path: string, key: string, ifAbsent: boolean): Promise<void> {
    const folder = dirname(path);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const made = await mkdir(folder, { recursive: true, mode: 0o700 });
        // link() fails where the name exists, so of several writers exactly one wins; rename() replaces in one step.
        await (ifAbsent ? link(temporary, path) : rename(temporary, path));
        await syncFolders(folder, made ? dirname(made) : folder);
        return;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? '';
        if (code === 'ENOENT' && attempt < PUBLISH_TRIES) continue;
        if (['EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY'].includes(code)) throw keyTaken(key);
        throw error;
      }
    }
  }

  async #prune(folder: string): Promise<void> {
    let path = folder;
    while (path.startsWith(`${this.#root}/`) && (await removeEmpty(path))) path = dirname(path);
  }
}

/** A new name is on disk when its folder is; folders made on the way too. */
async function syncFolders(from: string, upTo: string): Promise<void> {
  for (let path = from; path.length >= upTo.length; path = dirname(path)) {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (path === dirname(path)) return;
  }
}
