/** Types that a browser shows without running anything; everything else is downloaded. */
const SHOWN_INLINE = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

export const shownInline = (contentType: string): boolean => SHOWN_INLINE.has(contentType);

/** Characters that RFC 5987 allows unescaped in `filename*`. */
const ATTRIBUTE_CHARACTER = /[A-Za-z0-9!#$&+.^_`|~-]/;

/**
 * A `Content-Disposition` header for any file name, in ASCII: an approximation for old clients and the exact name as
 * `filename*=UTF-8''…`. Quotes, backslashes, `%` and all that is not printable ASCII become `_` in the first.
 */
export function contentDisposition(name: string, disposition: 'inline' | 'attachment'): string {
  const whole = name.toWellFormed();
  const fallback = whole.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const exact = Array.from(Buffer.from(whole, 'utf8'), (byte) => {
    const character = String.fromCharCode(byte);
    return byte < 0x80 && ATTRIBUTE_CHARACTER.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
  return `${disposition}; filename="${fallback}"; filename*=UTF-8''${exact}`;
}
