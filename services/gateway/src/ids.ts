import { randomBytes } from 'node:crypto';

/** What an id names; the prefix is part of the public API. */
export type IdKind =
  | 'ten'
  | 'usr'
  | 'key'
  | 'inv'
  | 'mdl'
  | 'agt'
  | 'ses'
  | 'msg'
  | 'turn'
  | 'call'
  | 'file'
  | 'upl'
  | 'run'
  | 'art';

/** A new unguessable id: prefix and 128 random bits as lower-case hex, safe in URLs, object keys and queue job ids. */
export function newId(kind: IdKind): string {
  return `${kind}_${randomBytes(16).toString('hex')}`;
}

/** Whether a text from outside can be an id of this kind. Others are refused, never cleaned. */
export function isId(kind: IdKind, text: unknown): text is string {
  return typeof text === 'string' && new RegExp(`^${kind}_[0-9a-f]{32}$`).test(text);
}
