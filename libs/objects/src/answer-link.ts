import type { Readable } from 'node:stream';
import { AppError } from '@moli/errors';
import { entityTag, requestedRange } from './byte-range.ts';
import { contentDisposition, shownInline } from './content-disposition.ts';
import type { FolderObjectStore } from './folder-store.ts';
import { type LinkGrant, linkInvalid } from './link-signature.ts';
import { objectNotFound } from './object-errors.ts';

/** A request for a signed link; `url` is path and query, `body` the untouched stream of a PUT. */
export interface LinkRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: Readable;
}

export interface LinkAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

/**
 * Serves a signed link of the folder store: the whole route `GET|PUT /objects/*`.
 * Errors: `link_invalid`, `not_found` (deleted since), `range_not_satisfiable`, `checksum_mismatch` (other content than the link allows).
 */
export async function answerLink(store: FolderObjectStore, request: LinkRequest): Promise<LinkAnswer> {
  const grant = await store.verifyLink(request.method, request.url);
  return grant.method === 'GET' ? answerGet(store, grant, request) : answerPut(store, grant, request);
}

async function answerGet(
  store: FolderObjectStore,
  grant: LinkGrant & { method: 'GET' },
  request: LinkRequest,
): Promise<LinkAnswer> {
  const type = grant.contentType ?? 'application/octet-stream';
  const inline = grant.downloadName === undefined && shownInline(type);
  const headers: Record<string, string> = {
    'content-type': type,
    'content-disposition': inline
      ? 'inline'
      : contentDisposition(grant.downloadName ?? grant.key.split('/').at(-1)!, 'attachment'),
    'accept-ranges': 'bytes',
    // The link itself is the secret: no shared cache keeps it, and what it serves runs nothing in our origin.
    'cache-control': 'private, no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
  };
  const stored = await store.stat(grant.key);
  if (!stored) throw objectNotFound(grant.key);
  const range = requestedRange(request.headers, stored);
  const part = await store.get(grant.key, range);
  const { start, end } = part.range;
  headers.etag = entityTag(part);
  headers['content-length'] = String(end - start + 1);
  if (range) headers['content-range'] = `bytes ${start}-${end}/${part.bytes}`;
  return { status: range ? 206 : 200, headers, body: part.stream };
}

async function answerPut(
  store: FolderObjectStore,
  grant: LinkGrant & { method: 'PUT' },
  request: LinkRequest,
): Promise<LinkAnswer> {
  const length = request.headers['content-length'];
  const type = request.headers['content-type'];
  if (length !== undefined && length !== String(grant.bytes)) throw linkInvalid('invalid');
  if (type !== undefined && type !== grant.contentType) throw linkInvalid('invalid');
  const expected = { bytes: grant.bytes, sha256: grant.sha256, ifAbsent: true };
  try {
    await store.put(grant.key, request.body ?? new Uint8Array(), expected);
  } catch (error) {
    // Two uploads with one link at once: the second finds the object there only at the end.
    if (error instanceof AppError && error.code === 'conflict') throw linkInvalid('used');
    throw error;
  }
  return { status: 200, headers: { 'content-length': '0', etag: entityTag(grant) } };
}
