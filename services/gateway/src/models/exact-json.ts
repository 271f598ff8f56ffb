/**
 * JSON without loss of digits. A number that a double cannot hold (an order id above 2^53) stays its own text and is written
 * back as it came; everything else is what JSON.parse gives.
 */
interface ExactJson {
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}
/** Part of V8 since 11.4; TypeScript's libraries do not name it yet. */
const json = JSON as unknown as ExactJson;

/** Doubles hold any 15 significant digits; shorter numbers need no look. Nor do digits inside a word: hexadecimal ids are in every frame of a stream. */
export const MAYBE_LOSSY = /(?:^|[\s,:[-])(?:\d{16}|\d[.\d]{16}|[.\d]+[eE][+-]?\d{2})/;

/** Throws SyntaxError like JSON.parse. */
export function parseExact(text: string): unknown {
  if (!MAYBE_LOSSY.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !survives(value, source) ? json.rawJSON(source) : value,
  );
}

/** The digits of a number that JSON.parse would have changed, or undefined for every other value. */
export function exactDigits(value: unknown): string | undefined {
  return json.isRawJSON(value) ? value.rawJSON : undefined;
}

function survives(value: number, source: string): boolean {
  return Number.isFinite(value) && plainDigits(String(value)) === plainDigits(source);
}

/** Sign, significant digits and exponent of a decimal literal, so that 1.0, 1 and 10e-1 compare equal. */
function plainDigits(literal: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal);
  if (!match) return literal;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}
