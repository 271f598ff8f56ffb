import { AppError } from '@moli/errors';

/** One segment: it starts with a letter or digit, so `.`, `..`, hidden names and options of programs cannot be one. */
const SEGMENT = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
/** S3 allows 1,024 bytes; half of it leaves room for a prefix of the deployment. */
const KEY_LENGTH = 512;
/** File systems end at 255 bytes a name; `versitygw` refuses longer ones too. */
const SEGMENT_LENGTH = 200;

export function isObjectKey(key: string): boolean {
  if (key.length === 0 || key.length > KEY_LENGTH) return false;
  return key.split('/').every((segment) => segment.length <= SEGMENT_LENGTH && SEGMENT.test(segment));
}

/** Joins segments to a key. Errors: `bad_request` where the result is not one. */
export function objectKey(...segments: readonly string[]): string {
  return requireKey(segments.join('/'));
}

export function requireKey(key: string): string {
  if (isObjectKey(key)) return key;
  throw new AppError('bad_request', {
    zh: `对象键「${shown(key)}」不可用：只能由字母、数字、点、下划线和连字符组成的段用“/”连接，最长 ${KEY_LENGTH} 个字符。`,
    en: `The object key “${shown(key)}” cannot be used: segments of letters, digits, dots, underscores and hyphens joined by “/”, at most ${KEY_LENGTH} characters.`,
  });
}

/** A prefix names a folder of keys: `a/b/`. `''` (everything) only where the caller allows it. */
export function requirePrefix(prefix: string, allowAll: boolean): string {
  if (prefix === '' && allowAll) return prefix;
  if (prefix.endsWith('/') && isObjectKey(prefix.slice(0, -1))) return prefix;
  throw new AppError('bad_request', {
    zh: `前缀「${shown(prefix)}」不可用：须是以“/”结尾的键，例如 tenant/session/。`,
    en: `The prefix “${shown(prefix)}” cannot be used: give a key that ends in “/”, such as tenant/session/.`,
  });
}

/** A refused key in a message: short and without anything that a terminal or page would act on. */
function shown(key: string): string {
  return key.slice(0, 80).replaceAll(/[^\x20-\x7e]/g, '?');
}
