import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '@moli/errors';
import { isObjectKey } from './object-key.ts';

/** Path under which a gateway serves links of the folder store. */
export const LINK_PATH = '/objects/';
/** Seven days, as with presigned links of S3. */
const LONGEST_SECONDS = 7 * 24 * 3600;
const MEDIA_TYPE = /^[a-z0-9.+-]+\/[a-z0-9.+-]+(?:;\s?charset=[a-z0-9-]+)?$/i;
const SHA256 = /^[0-9a-f]{64}$/;

/** What a link allows, once its signature and expiry are checked. */
export type LinkGrant =
  | { readonly method: 'GET'; readonly key: string; readonly downloadName?: string; readonly contentType?: string }
  | {
      readonly method: 'PUT';
      readonly key: string;
      readonly bytes: number;
      readonly sha256: string;
      readonly contentType: string;
    };

export function linkInvalid(why: 'expired' | 'used' | 'invalid'): AppError {
  const detail = {
    expired: {
      zh: '这个链接已经过期。请回到会话或文件列表里重新取得链接。',
      en: 'This link has expired. Get a new one from the session or the file list.',
    },
    used: {
      zh: '这个上传链接已经用过了，只能用一次。请重新申请上传链接。',
      en: 'This upload link was used already; it works once. Ask for a new upload link.',
    },
    invalid: {
      zh: '这个链接无效：它被改动过、不完整，或不允许这种请求。请重新取得链接。',
      en: 'This link is not valid: it was changed, is incomplete, or does not allow this kind of request. Get a new one.',
    },
  }[why];
  return new AppError('link_invalid', detail);
}

/** Path and query of a signed link. `secret` is the key of the HMAC, at least 32 bytes. */
export function signPath(secret: Uint8Array, grant: LinkGrant, expiresAt: Date): string {
  const query = new URLSearchParams({ expires: String(Math.floor(expiresAt.getTime() / 1000)) });
  if (grant.method === 'GET') {
    if (grant.downloadName !== undefined) query.set('name', grant.downloadName);
    if (grant.contentType !== undefined) query.set('type', grant.contentType);
  } else {
    query.set('bytes', String(grant.bytes));
    query.set('sha256', grant.sha256);
    query.set('type', grant.contentType);
  }
  query.set('signature', signature(secret, grant.method, grant.key, query).toString('base64url'));
  return `${LINK_PATH}${grant.key}?${query}`;
}

/** Covers method, key and every member, each encoded, so that no two links share the signed text. */
function signature(secret: Uint8Array, method: string, key: string, query: URLSearchParams): Buffer {
  return createHmac('sha256', secret).update(`moli-object-link 1\n${method}\n${key}\n${query}`).digest();
}

/**
 * Checks a link by signing what it says again and comparing the whole text, so that a foreign, doubled or reordered member,
 * another spelling of an escape or spare bits of the signature spoil it. `url` is a full URL or path with query. Errors: `link_invalid`.
 */
export function readLink(secret: Uint8Array, method: string, url: string, now: Date): LinkGrant {
  const { key, query, text } = parse(url);
  const grant = grantOf(method, key, query);
  const seconds = Number(query.get('expires'));
  // Dates end at 8.64e15 ms; what lies beyond was never signed.
  if (!grant || !Number.isSafeInteger(seconds) || seconds > 8.64e12) throw linkInvalid('invalid');
  const right = Buffer.from(signPath(secret, grant, new Date(seconds * 1000)));
  const given = Buffer.from(text);
  if (given.length !== right.length || !timingSafeEqual(given, right)) throw linkInvalid('invalid');
  if (seconds * 1000 <= now.getTime()) throw linkInvalid('expired');
  return grant;
}

function grantOf(method: string, key: string, query: URLSearchParams): LinkGrant | null {
  const type = query.get('type');
  if (method === 'PUT') {
    return {
      method,
      key,
      bytes: Number(query.get('bytes')),
      sha256: query.get('sha256') ?? '',
      contentType: type ?? '',
    };
  }
  if (method !== 'GET') return null;
  const name = query.get('name');
  return {
    method,
    key,
    ...(name === null ? {} : { downloadName: name }),
    ...(type === null ? {} : { contentType: type }),
  };
}

function parse(url: string): { key: string; query: URLSearchParams; text: string } {
  const text = url.slice(Math.max(url.indexOf(LINK_PATH), 0));
  const mark = text.indexOf('?');
  const key = text.slice(LINK_PATH.length, Math.max(mark, 0));
  // A key never needs escapes, so a path that has any is not one of ours.
  if (!isObjectKey(key)) throw linkInvalid('invalid');
  return { key, query: new URLSearchParams(text.slice(mark + 1)), text };
}

export function expiry(expiresInSeconds: number, now: Date): Date {
  if (!Number.isFinite(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > LONGEST_SECONDS) {
    throw new AppError('bad_request', {
      zh: `链接的有效期须在 1 到 ${LONGEST_SECONDS} 秒之间，收到的是 ${expiresInSeconds}。`,
      en: `A link may live 1 to ${LONGEST_SECONDS} seconds; ${expiresInSeconds} was asked for.`,
    });
  }
  return new Date((Math.floor(now.getTime() / 1000) + Math.floor(expiresInSeconds)) * 1000);
}

/** Refuses values that could not be sent as headers or compared later. */
export function requireSignable(grant: LinkGrant): LinkGrant {
  const type = grant.contentType;
  const sized =
    grant.method === 'GET' || (Number.isSafeInteger(grant.bytes) && grant.bytes >= 0 && SHA256.test(grant.sha256));
  if (sized && (type === undefined || MEDIA_TYPE.test(type))) return grant;
  throw new AppError('bad_request', {
    zh: `无法为对象 ${grant.key} 签发链接：大小、SHA-256 或内容类型不合格式。`,
    en: `No link can be signed for the object ${grant.key}: its size, SHA-256 or content type is not well-formed.`,
  });
}
