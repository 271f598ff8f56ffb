import {
  absolute,
  add,
  approximate,
  CalculationFault,
  compare,
  divide,
  factorial,
  floor,
  floorDivide,
  fraction,
  gcd,
  integerOf,
  modulo,
  multiply,
  negate,
  ofDecimal,
  ofInteger,
  power,
  round,
  signOf,
  squareRoot,
  toDouble,
  type Value,
  ZERO,
} from './exact-number.ts';

const MAX_LENGTH = 1000;
const MAX_DEPTH = 64;

/**
 * The value of an expression, by a parser of its own: nothing is ever evaluated as code. Operators and precedence as in Python (`^` is a
 * power too), decimals exact, `%` after a number a percentage. Whatever has two readings is a CalculationFault that says how to write it.
 */
export function calculate(expression: string): Value {
  if (expression.length > MAX_LENGTH)
    throw new CalculationFault(`the expression is longer than ${MAX_LENGTH} characters`);
  return new Parser(tokenize(normalize(expression))).parse();
}

interface Token {
  readonly kind: 'number' | 'name' | 'operator' | 'end';
  readonly text: string;
}

/** Full-width digits, letters and signs as Chinese input methods write them, and the usual signs of arithmetic, in ASCII. */
function normalize(text: string): string {
  return text
    .replace(/[\uff01-\uff5e]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
    .replace(/[\u3000\u00a0\u2009]/g, ' ')
    .replace(/[×✕∗·⋅]/g, '*')
    .replace(/[÷∕]/g, '/')
    .replace(/[−–—]/g, '-')
    .replace(/²/g, '**2')
    .replace(/³/g, '**3')
    .replace(/√/g, ' sqrt ')
    .replace(/π/g, ' pi ')
    .replace(/[=＝]\s*[?？]?\s*$/, '')
    .trim();
}

const TOKEN =
  /\s*(?:(\d[\d_]*(?:,\d{3})*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?|\.\d[\d_]*(?:[eE][+-]?\d+)?)|([A-Za-z_][A-Za-z0-9_]*|[万亿‰])|(\*\*|\/\/|[-+*/%^(),!]))/y;

function tokenize(text: string): Token[] {
  if (text === '') throw new CalculationFault('the expression is empty');
  const tokens: Token[] = [];
  // Which open brackets belong to a function: there a comma parts arguments.
  const brackets: boolean[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new CalculationFault(`"${text.slice(at, at + 10).trim()}" cannot be read`);
    const [, number, name, operator] = match;
    if (operator === '(') brackets.push(tokens.at(-1)?.kind === 'name');
    if (operator === ')') brackets.pop();
    if (number !== undefined) tokens.push({ kind: 'number', text: plainNumber(number, brackets.includes(true)) });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else tokens.push({ kind: 'operator', text: operator! });
  }
  return [...tokens, { kind: 'end', text: '' }];
}

function plainNumber(text: string, insideFunction: boolean): string {
  if (text.includes(',') && insideFunction) {
    throw new CalculationFault(
      `"${text}" inside a function can be one number or several: write it without thousands separators, or with a space after the comma`,
    );
  }
  if (text.includes(',') && !/^\d{1,3}(,\d{3})+(\D|$)/.test(text))
    throw new CalculationFault(`"${text}" is not a number`);
  return text.replace(/[,_]/g, '');
}

/** Precedence climbing, as in Python: sums, products, signs, powers, then what stands after a value. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Value {
    const value = this.#sum();
    if (this.#peek.kind !== 'end') throw this.#unexpected();
    return value;
  }

  get #peek(): Token {
    return this.#tokens[this.#at]!;
  }

  #accept(...texts: string[]): string | undefined {
    const { kind, text } = this.#peek;
    if (kind !== 'operator' || !texts.includes(text)) return undefined;
    this.#at++;
    return text;
  }

  #expect(text: string): void {
    if (!this.#accept(text))
      throw this.#peek.kind === 'end' ? new CalculationFault(`a "${text}" is missing`) : this.#unexpected();
  }

  #unexpected(): CalculationFault {
    const { kind, text } = this.#peek;
    if (kind === 'end') return new CalculationFault('the expression ends too early');
    const before = this.#tokens[this.#at - 1];
    const product =
      before && (before.kind !== 'operator' || before.text === ')') && (kind !== 'operator' || text === '(');
    return new CalculationFault(product ? `an operator is missing before "${text}"` : `"${text}" is not expected here`);
  }

  #sum(): Value {
    if (++this.#depth > MAX_DEPTH) throw new CalculationFault(`brackets nested more than ${MAX_DEPTH} deep`);
    let value = this.#product();
    for (let sign = this.#accept('+', '-'); sign; sign = this.#accept('+', '-')) {
      const right = this.#product();
      value = add(value, sign === '+' ? right : negate(right));
    }
    this.#depth--;
    return value;
  }

  #product(): Value {
    let value = this.#signed();
    for (let sign = this.#accept('*', '/', '//', '%'); sign; sign = this.#accept('*', '/', '//', '%')) {
      const right = this.#signed();
      if (sign === '*') value = multiply(value, right);
      else if (sign === '/') value = divide(value, right);
      else value = sign === '//' ? floorDivide(value, right) : modulo(value, right);
    }
    return value;
  }

  #signed(): Value {
    let negative = false;
    for (let sign = this.#accept('+', '-'); sign; sign = this.#accept('+', '-')) negative = negative !== (sign === '-');
    const value = this.#power();
    return negative ? negate(value) : value;
  }

  /** Right to left, and tighter than a sign before it: -2**2 is -4, 2**-1 is 0.5. */
  #power(): Value {
    if (++this.#depth > MAX_DEPTH) throw new CalculationFault(`powers nested more than ${MAX_DEPTH} deep`);
    const base = this.#postfix();
    const value = this.#accept('**', '^') ? power(base, this.#signed()) : base;
    this.#depth--;
    return value;
  }

  #postfix(): Value {
    let value = this.#atom();
    for (;;) {
      const { kind, text } = this.#peek;
      if (kind === 'operator' && text === '!') value = factorial(value);
      else if (kind === 'name' && text === '万') value = multiply(value, ofInteger(10_000n));
      else if (kind === 'name' && text === '亿') value = multiply(value, ofInteger(100_000_000n));
      else if (kind === 'name' && text === '‰') value = divide(value, ofInteger(1000n));
      else if (kind === 'operator' && text === '%' && this.#isPercent()) value = divide(value, ofInteger(100n));
      else return value;
      this.#at++;
    }
  }

  /** `15% * 200` is a percentage, `15 % 4` a remainder, `15 % -4` could be either. */
  #isPercent(): boolean {
    const next = this.#tokens[this.#at + 1]!;
    if (next.kind === 'number' || (next.kind === 'name' && !/[万亿‰]/.test(next.text)) || next.text === '(')
      return false;
    if (next.text === '+' || next.text === '-') {
      throw new CalculationFault(
        '"%" before a sign can be a percentage or a remainder: write (15/100) - 3 or mod(15, -3)',
      );
    }
    return true;
  }

  #atom(): Value {
    const { kind, text } = this.#peek;
    if (kind === 'number') {
      this.#at++;
      return ofDecimal(text);
    }
    if (kind === 'name') {
      this.#at++;
      return this.#accept('(') ? this.#call(text) : constant(text);
    }
    if (!this.#accept('(')) throw this.#unexpected();
    const value = this.#sum();
    this.#expect(')');
    return value;
  }

  #call(name: string): Value {
    const made = Object.hasOwn(FUNCTIONS, name.toLowerCase()) ? FUNCTIONS[name.toLowerCase()]! : undefined;
    if (!made)
      throw new CalculationFault(`there is no function "${name}"; there are: ${Object.keys(FUNCTIONS).join(', ')}`);
    const args: Value[] = [];
    if (!this.#accept(')')) {
      do args.push(this.#sum());
      while (this.#accept(','));
      this.#expect(')');
    }
    const [least, most] = made.takes;
    if (args.length < least || args.length > most) {
      const want = least === most ? `${least}` : most === MANY ? `at least ${least}` : `${least} to ${most}`;
      throw new CalculationFault(`${name} takes ${want} values, not ${args.length}`);
    }
    return made.apply(args);
  }
}

function constant(name: string): Value {
  switch (name.toLowerCase()) {
    case 'pi':
      return { approx: Math.PI };
    case 'tau':
      return { approx: 2 * Math.PI };
    case 'e':
      return { approx: Math.E };
    default:
      throw new CalculationFault(
        Object.hasOwn(FUNCTIONS, name.toLowerCase()) ? `the function ${name} needs brackets` : `"${name}" is not known`,
      );
  }
}

interface MathFunction {
  /** Least and most number of values. */
  readonly takes: readonly [number, number];
  apply(values: Value[]): Value;
}
const MANY = 200;

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
    throw new CalculationFault('log of one value can be natural or decimal: write ln(x), log10(x) or log(x, base)');
  return approximate(Math.log(toDouble(x!)) / Math.log(toDouble(base)));
}

/** Ways to choose `k` of `n`; the loop is bounded and every step checks the size. */
function choose(n: bigint, k: bigint, ordered: boolean): Value {
  if (n < 0n || k < 0n) throw new CalculationFault('comb and perm need values from 0');
  if (k > n) return ZERO;
  const steps = !ordered && k > n - k ? n - k : k;
  if (steps > 5000n) throw new CalculationFault('the result is too large');
  let value: Value = ofInteger(1n);
  for (let i = 0n; i < steps; i++) value = multiply(value, ordered ? ofInteger(n - i) : fraction(n - i, i + 1n));
  return value;
}

const FUNCTIONS: Readonly<Record<string, MathFunction>> = {
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
