import type { Readable } from 'node:stream';
import { AppError } from '@moli/errors';
import { contentDisposition, shownInline } from './content-disposition.ts';
import type { FolderObjectStore } from './folder-store.ts';
import { type LinkGrant, linkInvalid } from './link-signature.ts';

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
 * Errors: `link_invalid`, `not_found` (deleted since), `checksum_mismatch` (other content than the link allows).
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
  const range = readRange(request.headers.range);
  const opened = await store.get(grant.key);
  if (!range) {
    return { status: 200, headers: { ...headers, 'content-length': String(opened.bytes) }, body: opened.stream };
  }
  opened.stream.destroy();
  const start = range.suffix === undefined ? range.start : Math.max(opened.bytes - range.suffix, 0);
  if (start >= opened.bytes || range.suffix === 0) {
    return { status: 416, headers: { 'content-range': `bytes */${opened.bytes}`, 'content-length': '0' } };
  }
  const part = await store.get(grant.key, range.end === undefined ? { start } : { start, end: range.end });
  headers['content-range'] = `bytes ${part.range.start}-${part.range.end}/${part.bytes}`;
  headers['content-length'] = String(part.range.end - part.range.start + 1);
  return { status: 206, headers, body: part.stream };
}

interface Range {
  readonly start: number;
  readonly end?: number;
  readonly suffix?: number;
}

/** One range of bytes; anything else is answered with the whole object, as RFC 9110 allows. */
function readRange(header: string | string[] | undefined): Range | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(typeof header === 'string' ? header.trim() : '');
  if (!match || (match[1] === '' && match[2] === '')) return null;
  if (match[1] === '') return { start: 0, suffix: Number(match[2]) };
  const start = Number(match[1]);
  if (match[2] === '') return { start };
  return Number(match[2]) < start ? null : { start, end: Number(match[2]) };
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
  return { status: 200, headers: { 'content-length': '0', etag: `"${grant.sha256}"` } };
}
