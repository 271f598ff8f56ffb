/**
 * A value with every text in it fit for storing: whole characters only (a cut can part a pair of surrogates) and `␀` for NUL.
 * PostgreSQL's jsonb takes neither half characters nor NUL, and a file may hold both.
 */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\0', '␀').toWellFormed() as T;
  if (Array.isArray(value)) return value.map((each) => storable(each)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, storable(each)])) as T;
}

/** Text from a file inside of a sentence: line ends and other control characters would break it apart. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
