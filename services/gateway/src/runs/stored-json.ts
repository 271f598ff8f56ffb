/**
 * Postgres' jsonb holds every string but those with NUL or half a surrogate pair, and programs print both. These characters are escaped with a
 * private-use one, so that what comes back is what went in.
 */
const ESCAPE = '\ue000';
const SUSPECT = /\\u0000|\\ud[89a-f]|\ue000/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what it looks for
const FORBIDDEN = /[\u0000\ue000]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ESCAPED = /\ue000([0-9a-f]{4})/g;

const escapeText = (text: string): string =>
  text.replace(FORBIDDEN, (found) => `${ESCAPE}${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

const unescapeText = (text: string): string =>
  text.includes(ESCAPE)
    ? text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [map(key), mapStrings(inner, map)]));
  }
  return value;
}

/** JSON text for a jsonb column. */
export function toStored(value: object): string {
  const json = JSON.stringify(value);
  return SUSPECT.test(json) ? JSON.stringify(mapStrings(JSON.parse(json), escapeText)) : json;
}

/** The value of a jsonb column that `toStored` wrote. */
export function fromStored<T>(value: unknown): T {
  return mapStrings(value, unescapeText) as T;
}
