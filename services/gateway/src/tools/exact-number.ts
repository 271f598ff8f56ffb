import type { Words } from './argument-faults.ts';

/** A number of the calculator: a fraction with all its digits, or a double where only an approximation exists (sin, roots, logarithms). */
export type Value = Fraction | Approximation;
export interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}
interface Approximation {
  readonly approx: number;
}

/** What cannot be calculated, as the end of a sentence for a person and a model. */
export class CalculationFault extends Error {
  readonly words: Words;

  constructor(words: Words) {
    super(words.en);
    this.words = words;
  }
}

/** Bits of a whole number (about 12,000 digits), and of both sides of a fraction: every step stays within a few milliseconds. */
const MAX_BITS = 40_000;
const MAX_FRACTION_BITS = 4_000;
/** Both numbers of a division before it is reduced: finding their divisor takes the square of this. */
const MAX_REDUCED_BITS = 10_000;
const FACTORIAL_MAX = 1_000n;

export const ZERO: Value = { n: 0n, d: 1n };
export const ofInteger = (n: bigint): Value => ({ n, d: 1n });
const isExact = (value: Value): value is Fraction => 'n' in value;

export function fraction(n: bigint, d: bigint): Value {
  if (d === 0n) throw divisionByZero();
  const sign = d < 0n ? -1n : 1n;
  const common = gcd(n, d) || 1n;
  return bounded({ n: (sign * n) / common, d: (sign * d) / common });
}

export function ofDecimal(text: string): Value {
  const match = /^(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!match || match[1] + (match[2] ?? '') === '')
    throw new CalculationFault({ zh: `“${text}”不是数字`, en: `"${text}" is not a number` });
  const [, whole = '', digits = '', exponent = '0'] = match;
  const shift = Number(exponent) - digits.length;
  if (Math.abs(shift) > 10_000)
    throw new CalculationFault({ zh: '有一个数超过 10,000 位', en: 'a number with more than 10,000 digits' });
  const n = BigInt(whole + digits);
  return shift >= 0 ? bounded({ n: n * 10n ** BigInt(shift), d: 1n }) : fraction(n, 10n ** BigInt(-shift));
}

export function add(a: Value, b: Value): Value {
  return isExact(a) && isExact(b) ? fraction(a.n * b.d + b.n * a.d, a.d * b.d) : approximate(toDouble(a) + toDouble(b));
}

export function negate(a: Value): Value {
  return isExact(a) ? { n: -a.n, d: a.d } : { approx: -a.approx };
}

export function multiply(a: Value, b: Value): Value {
  return isExact(a) && isExact(b) ? fraction(a.n * b.n, a.d * b.d) : approximate(toDouble(a) * toDouble(b));
}

export function divide(a: Value, b: Value): Value {
  if (signOf(b) === 0) throw divisionByZero();
  return isExact(a) && isExact(b) ? fraction(a.n * b.d, a.d * b.n) : approximate(toDouble(a) / toDouble(b));
}

/** Rounded towards minus infinity, as `//` of Python. */
export function floorDivide(a: Value, b: Value): Value {
  if (signOf(b) === 0) throw divisionByZero();
  if (!isExact(a) || !isExact(b)) return floor(divide(a, b));
  // Not by way of a fraction: 2**39999 // 10 is a whole number that fits, 2**39999 / 10 is not.
  const [n, d] = [a.n * b.d, a.d * b.n];
  const quotient = n / d;
  return ofInteger(n < 0n !== d < 0n && quotient * d !== n ? quotient - 1n : quotient);
}

/** The remainder has the sign of the divisor, as `%` of Python. */
export function modulo(a: Value, b: Value): Value {
  return add(a, negate(multiply(b, floorDivide(a, b))));
}

/** Exact for integer exponents and perfect squares; the size of the result is checked before it is made. */
export function power(base: Value, exponent: Value): Value {
  if (isExact(base) && isExact(exponent) && exponent.d === 1n) {
    if (base.n === 0n && exponent.n < 0n) throw divisionByZero();
    const size = magnitude(exponent.n);
    const bits = BigInt(Math.max(bitsOf(base.n), bitsOf(base.d)));
    if ((base.n !== 1n && base.n !== -1n && base.n !== 0n) || base.d !== 1n) {
      // At least so many bits; the result has fewer than twice as many.
      if (size * (bits - 1n) > BigInt(MAX_BITS)) throw tooLarge();
    }
    // 1, 0 and -1 stay small, whatever the exponent.
    const times = bits <= 1n && base.d === 1n ? size % 2n || (size === 0n ? 0n : 2n) : size;
    const raised = { n: base.n ** times, d: base.d ** times };
    return exponent.n < 0n ? fraction(raised.d, raised.n) : bounded(raised);
  }
  if (isExact(exponent) && exponent.n === 1n && exponent.d === 2n) return squareRoot(base);
  if (signOf(base) < 0) throw rootOfNegative();
  return approximate(toDouble(base) ** toDouble(exponent));
}

export function squareRoot(value: Value): Value {
  if (signOf(value) < 0) throw rootOfNegative();
  if (isExact(value)) {
    const [n, d] = [integerRoot(value.n), integerRoot(value.d)];
    if (n * n === value.n && d * d === value.d) return { n, d };
  }
  return approximate(Math.sqrt(toDouble(value)));
}

export function floor(value: Value): Value {
  if (!isExact(value)) return approximate(Math.floor(value.approx));
  const quotient = value.n / value.d;
  return ofInteger(value.n < 0n && quotient * value.d !== value.n ? quotient - 1n : quotient);
}

/** To `digits` decimals, halves away from zero, as people and spreadsheets do. */
export function round(value: Value, digits: number): Value {
  if (Math.abs(digits) > 100)
    throw new CalculationFault({ zh: '取整的位数超过 100', en: 'rounding to more than 100 digits' });
  const exact = isExact(value) ? value : ofDouble(value.approx);
  const scale = digits >= 0 ? ofInteger(10n ** BigInt(digits)) : fraction(1n, 10n ** BigInt(-digits));
  const half = fraction(1n, 2n);
  const scaled = multiply(absolute(exact), scale);
  const rounded = divide(floor(add(scaled, half)), scale);
  return signOf(exact) < 0 ? negate(rounded) : rounded;
}

export function factorial(value: Value): Value {
  const n = integerOf(value, 'factorial');
  if (n < 0n) throw new CalculationFault({ zh: '负数没有阶乘', en: 'the factorial of a negative number' });
  if (n > FACTORIAL_MAX)
    throw new CalculationFault({ zh: `阶乘不能超过 ${FACTORIAL_MAX}!`, en: `a factorial over ${FACTORIAL_MAX}!` });
  let product = 1n;
  for (let i = 2n; i <= n; i++) product *= i;
  return bounded(ofInteger(product) as Fraction);
}

export const absolute = (value: Value): Value => (signOf(value) < 0 ? negate(value) : value);

export function compare(a: Value, b: Value): number {
  if (isExact(a) && isExact(b)) {
    const difference = a.n * b.d - b.n * a.d;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  return Math.sign(toDouble(a) - toDouble(b));
}

export function signOf(value: Value): number {
  if (!isExact(value)) return Math.sign(value.approx);
  return value.n < 0n ? -1 : value.n > 0n ? 1 : 0;
}

export function integerOf(value: Value, what: string): bigint {
  if (isExact(value) && value.d === 1n) return value.n;
  throw new CalculationFault({ zh: `${what} 需要整数`, en: `${what} needs a whole number` });
}

/** The nearest double, right also where numerator and denominator are beyond a double's range. */
export function toDouble(value: Value): number {
  if (!isExact(value)) return value.approx;
  const shift = bitsOf(value.n) - bitsOf(value.d) - 64;
  const scaled = shift > 0 ? value.n / (value.d << BigInt(shift)) : (value.n << BigInt(-shift)) / value.d;
  return shift > 1000 ? tooBigDouble(value.n) : Number(scaled) * 2 ** shift;
}

export function approximate(result: number): Value {
  if (Number.isNaN(result))
    throw new CalculationFault({
      zh: '结果不是数（超出函数的定义域）',
      en: 'the result is not a number (outside of the domain of the function)',
    });
  if (!Number.isFinite(result)) throw tooLarge();
  return { approx: result };
}

export function gcd(a: bigint, b: bigint): bigint {
  if (Math.min(bitsOf(a), bitsOf(b)) > MAX_REDUCED_BITS) throw tooLarge();
  let [x, y] = [magnitude(a), magnitude(b)];
  while (y > 0n) [x, y] = [y, x % y];
  return x;
}

export const tooLarge = () => new CalculationFault({ zh: '结果太大', en: 'the result is too large' });
const divisionByZero = () => new CalculationFault({ zh: '除数为零', en: 'division by zero' });
const rootOfNegative = () => new CalculationFault({ zh: '负数没有实数根', en: 'a root of a negative number' });
const tooBigDouble = (n: bigint): number => (n < 0n ? -Infinity : Infinity);
const magnitude = (n: bigint): bigint => (n < 0n ? -n : n);

function bounded(value: Fraction): Value {
  const limit = value.d === 1n ? MAX_BITS : MAX_FRACTION_BITS;
  if (bitsOf(value.n) > limit || bitsOf(value.d) > limit) throw tooLarge();
  return value;
}

function bitsOf(n: bigint): number {
  const hex = magnitude(n).toString(16);
  return hex === '0' ? 0 : (hex.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(hex[0]!, 16)));
}

/** Newton's method from above: the largest whole number whose square is not over `n`. */
function integerRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let x = 1n << BigInt(Math.ceil(bitsOf(n) / 2));
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

function ofDouble(value: number): Value {
  const [digits = '0', exponent = '0'] = value.toExponential(16).split('e');
  const exact = ofDecimal(`${digits.replace('-', '')}e${exponent}`);
  return value < 0 ? negate(exact) : exact;
}

/** A value as text. `exact: false` where digits were left out. */
export function showValue(value: Value): { text: string; exact: boolean } {
  if (!isExact(value)) return { text: String(Number(value.approx.toPrecision(15))), exact: false };
  if (value.d === 1n) return shorten(value.n.toString());
  const decimals = decimalsOf(value.d);
  if (decimals !== undefined && decimals <= 60) return { text: decimalText(value, decimals), exact: true };
  const scale = Math.max(0, 30 - (bitsOf(value.n) - bitsOf(value.d)) * 0.30103);
  const digits = Math.min(400, Math.ceil(scale));
  return {
    text: decimalText(round(value, Math.min(100, digits)) as Fraction, Math.min(100, digits)),
    exact: false,
  };
}

/** Decimals that a terminating fraction has, or undefined when it does not end. */
function decimalsOf(d: bigint): number | undefined {
  let [rest, twos, fives] = [d, 0, 0];
  while (rest % 2n === 0n) [rest, twos] = [rest / 2n, twos + 1];
  while (rest % 5n === 0n) [rest, fives] = [rest / 5n, fives + 1];
  return rest === 1n ? Math.max(twos, fives) : undefined;
}

function decimalText({ n, d }: Fraction, decimals: number): string {
  const digits = ((magnitude(n) * 10n ** BigInt(decimals)) / d).toString().padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const text = decimals === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0+$/, '');
  return n < 0n ? `-${text}` : text;
}

function shorten(digits: string): { text: string; exact: boolean } {
  const size = digits.replace('-', '').length;
  if (size <= 2000) return { text: digits, exact: true };
  const lead = digits.startsWith('-') ? 2 : 1;
  return { text: `${digits.slice(0, lead)}.${digits.slice(lead, lead + 30)}e+${size - 1}`, exact: false };
}
