import type { Readable } from 'node:stream';

/** What a store keeps of an object. `bytes` is the size of the content, `sha256` its lower-case hex digest. */
export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** One line of a listing. */
export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
}

export interface ObjectPage {
  /** In the order of the keys' bytes. Between pages that order is the server's: not every S3 server lists as S3 does. */
  readonly items: readonly ListedObject[];
  /** Give it as `after` for the next page, without reading anything into it; null at the end. */
  readonly next: string | null;
}

/** What the caller already knows of the content. A body that differs is refused (`checksum_mismatch`) and never visible. */
export interface PutExpectation {
  readonly bytes?: number;
  readonly sha256?: string;
  /** Refuse with `conflict` where the key already holds an object; of several at once exactly one wins. */
  readonly ifAbsent?: boolean;
}

/** Inclusive byte positions, as in an HTTP range. `end` past the last byte means up to the last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number;
}

export interface OpenObject extends StoredObject {
  /** The positions that `stream` delivers. */
  readonly range: { readonly start: number; readonly end: number };
  /**
   * The bytes. Read in full, they are checked against `sha256`: the last piece is held back until the digest agrees,
   * so altered content ends in an error (`checksum_mismatch`) and never in a clean end.
   */
  readonly stream: Readable;
}

/** Which address a link starts with: the public one (browsers) or the one that our own services reach. */
export type LinkReach = 'public' | 'internal';

export interface SignGetOptions {
  readonly expiresInSeconds: number;
  /** The answer is an attachment of this name; without it, it has no name and no disposition. */
  readonly downloadName?: string;
  readonly contentType?: string;
  readonly reach?: LinkReach;
}

export interface SignPutOptions {
  readonly bytes: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly expiresInSeconds: number;
  readonly reach?: LinkReach;
}

export interface SignedLink {
  readonly url: string;
  readonly expiresAt: Date;
}

export interface SignedPut extends SignedLink {
  /** Headers that the request must carry as they are; `content-length` is set by the HTTP client from the body. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Keeps whole objects by key. Keys are segments of letters, digits, `.`, `_` and `-` joined by `/`, at most 512 characters;
 * any other key is refused with `bad_request`, never cleaned. Two stores implement it and both pass `objectStoreContract`.
 */
export interface ObjectStore {
  readonly kind: 'folder' | 's3';
  /** Whether the store can be used at this moment: one try. Throws what stands in the way. */
  check(): Promise<void>;
  /**
   * Writes the whole object or nothing: it is visible under its key only when it is complete, checked and on disk.
   * Errors: `checksum_mismatch` (short, long or other content), `conflict` (`ifAbsent`), `bad_request` (key).
   */
  put(key: string, body: Uint8Array | Readable, expected?: PutExpectation): Promise<StoredObject>;
  /** Opens an object. Errors: `not_found`; `range_not_satisfiable` with `bytes`; `checksum_mismatch` when altered. */
  get(key: string, range?: ByteRange): Promise<OpenObject>;
  /** The object's size and digest, or null where there is none. */
  stat(key: string): Promise<StoredObject | null>;
  /** Objects below `prefix` (`''` for all, else ends in `/`), each on exactly one page. `limit` 1 to 1,000; `after` is the `next` of a page. */
  list(prefix: string, options?: { limit?: number; after?: string }): Promise<ObjectPage>;
  /** Deleting what is gone is success. */
  delete(key: string): Promise<void>;
  /** Deletes everything below `prefix` (ends in `/`, never empty) and says how many objects that were. */
  deletePrefix(prefix: string): Promise<number>;
  /** A link that reads exactly this object until it expires. It does not look whether the object exists. */
  signGet(key: string, options: SignGetOptions): Promise<SignedLink>;
  /** A link that writes exactly this content to exactly this key, once, until it expires. */
  signPut(key: string, options: SignPutOptions): Promise<SignedPut>;
  /** Removes bodies that a crash left unfinished and that nothing has added to for `olderThanSeconds`. Returns how many. */
  sweepTemporary(olderThanSeconds: number): Promise<number>;
}
