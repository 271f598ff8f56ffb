import {
  absolute,
  add,
  approximate,
  CalculationFault,
  compare,
  divide,
  factorial,
  floor,
  fraction,
  gcd,
  integerOf,
  modulo,
  negate,
  ofInteger,
  power,
  round,
  signOf,
  squareRoot,
  toDouble,
  tooLarge,
  type Value,
  ZERO,
} from './exact-number.ts';

export interface MathFunction {
  /** Least and most number of values. */
  readonly takes: readonly [number, number];
  apply(values: Value[]): Value;
}
/** Most values of a function that takes many. */
export const MANY = 200;

const real = (fn: (x: number) => number): MathFunction => ({
  takes: [1, 1],
  apply: ([x]) => approximate(fn(toDouble(x!))),
});
const one = (apply: (x: Value) => Value): MathFunction => ({ takes: [1, 1], apply: ([x]) => apply(x!) });
const two = (apply: (x: Value, y: Value) => Value): MathFunction => ({
  takes: [2, 2],
  apply: ([x, y]) => apply(x!, y!),
});
const many = (apply: (values: Value[]) => Value): MathFunction => ({ takes: [1, MANY], apply });

const total = (values: Value[]): Value => values.reduce(add, ZERO);
const average = (values: Value[]): Value => divide(total(values), ofInteger(BigInt(values.length)));
const ceiling = (x: Value): Value => negate(floor(negate(x)));

function logarithm([x, base]: Value[]): Value {
  if (base === undefined)
    throw new CalculationFault({
      zh: '只有一个值的 log 可以是自然对数或常用对数：请写 ln(x)、log10(x) 或 log(x, 底)',
      en: 'log of one value can be natural or decimal: write ln(x), log10(x) or log(x, base)',
    });
  return approximate(Math.log(toDouble(x!)) / Math.log(toDouble(base)));
}

/** Ways to choose `k` of `n`; the loop is bounded and every step checks the size. */
function choose(n: bigint, k: bigint, ordered: boolean): Value {
  if (n < 0n || k < 0n)
    throw new CalculationFault({ zh: 'comb 和 perm 的值不能小于 0', en: 'comb and perm need values from 0' });
  if (k > n) return ZERO;
  const steps = !ordered && k > n - k ? n - k : k;
  if (steps > 1000n) throw tooLarge();
  let value = 1n;
  // A product of so many neighbours is divided by so many factors: every division here is exact.
  for (let i = 0n; i < steps; i++) value = ordered ? value * (n - i) : (value * (n - i)) / (i + 1n);
  return add(ofInteger(value), ZERO);
}

/** By lower-case name. */
export const FUNCTIONS: Readonly<Record<string, MathFunction>> = {
  abs: one(absolute),
  sqrt: one(squareRoot),
  cbrt: real(Math.cbrt),
  round: { takes: [1, 2], apply: ([x, digits]) => round(x!, digits ? Number(integerOf(digits, 'round')) : 0) },
  floor: one(floor),
  ceil: one(ceiling),
  trunc: one((x) => (signOf(x) < 0 ? ceiling(x) : floor(x))),
  min: many((values) => values.reduce((a, b) => (compare(a, b) <= 0 ? a : b))),
  max: many((values) => values.reduce((a, b) => (compare(a, b) >= 0 ? a : b))),
  sum: many(total),
  avg: many(average),
  mean: many(average),
  pow: two(power),
  mod: two(modulo),
  gcd: two((a, b) => ofInteger(gcd(integerOf(a, 'gcd'), integerOf(b, 'gcd')))),
  lcm: two((a, b) => {
    const [x, y] = [integerOf(a, 'lcm'), integerOf(b, 'lcm')];
    return x === 0n || y === 0n ? ZERO : absolute(fraction(x * y, gcd(x, y)));
  }),
  factorial: one(factorial),
  comb: two((n, k) => choose(integerOf(n, 'comb'), integerOf(k, 'comb'), false)),
  perm: two((n, k) => choose(integerOf(n, 'perm'), integerOf(k, 'perm'), true)),
  exp: real(Math.exp),
  ln: real(Math.log),
  log: { takes: [1, 2], apply: logarithm },
  log10: real(Math.log10),
  log2: real(Math.log2),
  sin: real(Math.sin),
  cos: real(Math.cos),
  tan: real(Math.tan),
  asin: real(Math.asin),
  acos: real(Math.acos),
  atan: real(Math.atan),
  degrees: real((x) => (x * 180) / Math.PI),
  radians: real((x) => (x * Math.PI) / 180),
};
