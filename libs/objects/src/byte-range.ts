import { boundedRange } from './object-errors.ts';
import type { StoredObject } from './object-store.ts';

/** A strong validator: the content of a key never changes, and another content has another digest. */
export const entityTag = ({ sha256 }: Pick<StoredObject, 'sha256'>): string => `"${sha256}"`;

/**
 * The positions that a GET asks for by `Range`, or undefined for all of it: without that header, for several ranges or another unit (RFC 9110
 * lets a server ignore those), and when `If-Range` names other content than is there now. Errors: `range_not_satisfiable`.
 */
export function requestedRange(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  stored: Pick<StoredObject, 'bytes' | 'sha256'>,
): { readonly start: number; readonly end: number } | undefined {
  const { range, 'if-range': ifRange } = headers;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(typeof range === 'string' ? range.trim() : '');
  if (!match || (ifRange !== undefined && ifRange !== entityTag(stored))) return undefined;
  const [first, last] = [match[1] ?? '', match[2] ?? ''];
  if (first === '' && last === '') return undefined;
  // `-n` is the last n bytes; of fewer there are, all.
  if (first === '') return boundedRange({ start: stored.bytes - Math.min(Number(last), stored.bytes) }, stored.bytes);
  const start = Number(first);
  if (last === '') return boundedRange({ start }, stored.bytes);
  return Number(last) < start ? undefined : boundedRange({ start, end: Number(last) }, stored.bytes);
}
