import { expect, test } from 'vitest';
import { calculate } from './calculator.ts';
import { CalculationFault, showValue } from './exact-number.ts';

const result = (expression: string) => showValue(calculate(expression));

test.each([
  ['1 + 2 * 3', '7'],
  ['0.1 + 0.2', '0.3'],
  ['(1280.5 - 990) / 990 * 0', '0'],
  ['-2**2', '-4'],
  ['2**-2', '0.25'],
  ['2^10', '1024'],
  ['2**3**2', '512'],
  ['7 // 2', '3'],
  ['-7 // 2', '-4'],
  ['-7 % 3', '2'],
  ['mod(7, -3)', '-2'],
  ['200 * 15%', '30'],
  ['15% * 200', '30'],
  ['(50%)', '0.5'],
  ['17 % 5', '2'],
  ['9007199254740993 + 0', '9007199254740993'],
  ['9007199254740993 * 10', '90071992547409930'],
  ['2**200', '1606938044258990275541962092341162602522202993782792835301376'],
  ['１２＋３×（４－１）', '21'],
  ['100 ÷ 8', '12.5'],
  ['3.5万 + 1.2亿', '120035000'],
  ['1,234,567.5 + 1', '1234568.5'],
  ['1_000 + 1', '1001'],
  ['sqrt(16)', '4'],
  ['sqrt(2.25)', '1.5'],
  ['4 ** 0.5', '2'],
  ['round(2.675, 2)', '2.68'],
  ['round(-2.5)', '-3'],
  ['round(1234.5, -2)', '1200'],
  ['max(1, 2.5, 2)', '2.5'],
  ['avg(1, 2)', '1.5'],
  ['5!', '120'],
  ['comb(52, 5)', '2598960'],
  ['perm(5, 2)', '20'],
  ['1000! / 999!', '1000'],
  ['9 ** 9999 % 7', '1'],
  ['2**39999 % 10', '8'],
  ['comb(1000, 500) / comb(1000, 499) * 500', '501'],
  ['gcd(12, 18) + lcm(4, 6)', '18'],
  ['1e3 + 1E-3', '1000.001'],
  ['3²+4²', '25'],
  ['(-1) ** 100000000000001', '-1'],
  ['1 ** 99999999999', '1'],
  ['12 * 3 =', '36'],
  ['1/8', '0.125'],
  ['trunc(-2.7) + floor(-2.7) + ceil(-2.2)', '-7'],
])('%s = %s', (expression, text) => {
  expect(result(expression)).toEqual({ text, exact: true });
});

test.each([
  ['1/3', '0.3333333333333333333333333333333'],
  ['2/3', '0.666666666666666666666666666667'],
  ['pi', '3.14159265358979'],
  ['sqrt(2)', '1.4142135623731'],
  ['ln(e)', '1'],
  ['log(8, 2)', '3'],
  ['sin(0)', '0'],
  ['1000 * (1 + 0.05) ** (1/2)', '1024.69507659596'],
])('%s ≈ %s', (expression, text) => {
  expect(result(expression)).toEqual({ text, exact: false });
});

test.each([
  ['', /empty/],
  ['1/0', /division by zero/],
  ['0**-1', /division by zero/],
  ['5 % 0', /division by zero/],
  ['2 +', /ends too early/],
  ['(1 + 2', /"\)" is missing/],
  ['2 3', /operator is missing/],
  ['2(3)', /operator is missing/],
  ['9**9**9', /too large/],
  ['9**9**9**9**9', /too large/],
  ['10**100000', /too large/],
  ['99999999999999!', /factorial/],
  ['sqrt(-1)', /negative/],
  ['ln(0)', /too large/],
  ['ln(-1)', /not a number/],
  ['log(100)', /ln\(x\), log10/],
  ['15 % -4', /percentage or a remainder/],
  ['max(1,000)', /one number or several/],
  ['process.exit()', /cannot be read/],
  ['__import__("os")', /cannot be read/],
  ['constructor(1)', /no function/],
  ['foo', /not known/],
  ['sqrt 2', /needs brackets/],
  ['round(1)(2)', /operator is missing/],
  ['1e99999', /10,000 digits/],
  [`${'('.repeat(100)}1${')'.repeat(100)}`, /nested/],
  [`${'1+'.repeat(600)}1`, /longer than/],
  ['exp(1000)', /too large/],
  ['gcd(2**39000, 3**24000)', /too large/],
  ['2**39000 / 3**24000', /too large/],
  ['(1/7)**2000', /too large/],
  ['comb(100000, 50000)', /too large/],
  ['1001!', /factorial/],
])('%s is refused', (expression, reason) => {
  expect(() => calculate(expression)).toThrow(CalculationFault);
  expect(() => calculate(expression)).toThrow(reason);
});
