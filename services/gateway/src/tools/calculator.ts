import type { Words } from './argument-faults.ts';
import { FUNCTIONS, MANY } from './calculator.functions.ts';
import { type Token, tokenize } from './calculator.tokens.ts';
import {
  add,
  CalculationFault,
  divide,
  factorial,
  floorDivide,
  modulo,
  multiply,
  negate,
  ofDecimal,
  ofInteger,
  power,
  type Value,
} from './exact-number.ts';

const MAX_LENGTH = 1000;
const MAX_DEPTH = 64;

/**
 * The value of an expression, by a parser of its own: nothing is ever evaluated as code. Operators and precedence as in Python (`^` is a
 * power too), decimals exact, `%` after a number a percentage. Whatever has two readings is a CalculationFault that says how to write it.
 */
export function calculate(expression: string): Value {
  if (expression.length > MAX_LENGTH)
    throw new CalculationFault({
      zh: `算式超过 ${MAX_LENGTH} 个字符`,
      en: `the expression is longer than ${MAX_LENGTH} characters`,
    });
  return new Parser(tokenize(expression)).parse();
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
      throw this.#peek.kind === 'end'
        ? new CalculationFault({ zh: `缺少“${text}”`, en: `a "${text}" is missing` })
        : this.#unexpected();
  }

  #unexpected(): CalculationFault {
    const { kind, text } = this.#peek;
    if (kind === 'end') return new CalculationFault({ zh: '算式不完整', en: 'the expression ends too early' });
    const before = this.#tokens[this.#at - 1];
    const product =
      before && (before.kind !== 'operator' || before.text === ')') && (kind !== 'operator' || text === '(');
    return product
      ? new CalculationFault({ zh: `“${text}”前面缺少运算符`, en: `an operator is missing before "${text}"` })
      : new CalculationFault({ zh: `“${text}”不应出现在这里`, en: `"${text}" is not expected here` });
  }

  #sum(): Value {
    if (++this.#depth > MAX_DEPTH)
      throw new CalculationFault({
        zh: `括号嵌套超过 ${MAX_DEPTH} 层`,
        en: `brackets nested more than ${MAX_DEPTH} deep`,
      });
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
    if (++this.#depth > MAX_DEPTH)
      throw new CalculationFault({
        zh: `乘方嵌套超过 ${MAX_DEPTH} 层`,
        en: `powers nested more than ${MAX_DEPTH} deep`,
      });
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
      throw new CalculationFault({
        zh: '正负号前的“%”可以是百分数，也可以是求余：请写 (15/100) - 3 或 mod(15, -3)',
        en: '"%" before a sign can be a percentage or a remainder: write (15/100) - 3 or mod(15, -3)',
      });
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
    if (!made) {
      const names = Object.keys(FUNCTIONS).join(', ');
      throw new CalculationFault({
        zh: `没有函数“${name}”，只有：${names}`,
        en: `there is no function "${name}"; there are: ${names}`,
      });
    }
    const args: Value[] = [];
    if (!this.#accept(')')) {
      do args.push(this.#sum());
      while (this.#accept(','));
      this.#expect(')');
    }
    const [least, most] = made.takes;
    if (args.length < least || args.length > most) {
      throw new CalculationFault({
        zh: `${name} 需要${countWords(least, most).zh}个值，而不是 ${args.length} 个`,
        en: `${name} takes ${countWords(least, most).en}, not ${args.length}`,
      });
    }
    return made.apply(args);
  }
}

function countWords(least: number, most: number): Words {
  const values = most === 1 ? 'value' : 'values';
  if (least === most) return { zh: ` ${least} `, en: `${least} ${values}` };
  return most === MANY
    ? { zh: `至少 ${least} `, en: `at least ${least}` }
    : { zh: ` ${least} 到 ${most} `, en: `${least} to ${most} ${values}` };
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
      throw Object.hasOwn(FUNCTIONS, name.toLowerCase())
        ? new CalculationFault({ zh: `函数 ${name} 需要括号`, en: `the function ${name} needs brackets` })
        : new CalculationFault({ zh: `不认识“${name}”`, en: `"${name}" is not known` });
  }
}
