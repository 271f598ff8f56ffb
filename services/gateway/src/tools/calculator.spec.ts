import { expect, test } from 'vitest';
import { CalculateTool } from './calculate.tool.ts';
import { calculate } from './calculator.ts';
import { CalculationFault, showValue } from './exact-number.ts';
import type { ToolContext } from './tool.types.ts';

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
  ['', /empty/, /空/],
  ['1/0', /division by zero/, /除数为零/],
  ['0**-1', /division by zero/, /除数为零/],
  ['5 % 0', /division by zero/, /除数为零/],
  ['2 +', /ends too early/, /不完整/],
  ['(1 + 2', /"\)" is missing/, /缺少“\)”/],
  ['2 3', /operator is missing/, /缺少运算符/],
  ['2(3)', /operator is missing/, /缺少运算符/],
  ['9**9**9', /too large/, /结果太大/],
  ['9**9**9**9**9', /too large/, /结果太大/],
  ['10**100000', /too large/, /结果太大/],
  ['99999999999999!', /factorial/, /阶乘/],
  ['sqrt(-1)', /negative/, /负数/],
  ['ln(0)', /too large/, /结果太大/],
  ['ln(-1)', /not a number/, /不是数/],
  ['log(100)', /ln\(x\), log10/, /ln\(x\)、log10/],
  ['15 % -4', /percentage or a remainder/, /百分数，也可以是求余/],
  ['max(1,000)', /one number or several/, /一个数，也可以是几个/],
  ['process.exit()', /cannot be read/, /无法识别/],
  ['__import__("os")', /cannot be read/, /无法识别/],
  ['constructor(1)', /no function/, /没有函数/],
  ['foo', /not known/, /不认识/],
  ['sqrt 2', /needs brackets/, /需要括号/],
  ['round(1)(2)', /operator is missing/, /缺少运算符/],
  ['1e99999', /10,000 digits/, /10,000 位/],
  [`${'('.repeat(100)}1${')'.repeat(100)}`, /nested/, /嵌套/],
  [`${'1+'.repeat(600)}1`, /longer than/, /超过/],
  ['exp(1000)', /too large/, /结果太大/],
  ['gcd(2**39000, 3**24000)', /too large/, /结果太大/],
  ['2**39000 / 3**24000', /too large/, /结果太大/],
  ['(1/7)**2000', /too large/, /结果太大/],
  ['comb(100000, 50000)', /too large/, /结果太大/],
  ['1001!', /factorial/, /阶乘/],
  ['(-1)!', /factorial of a negative/, /负数没有阶乘/],
  ['gcd(1.5, 2)', /gcd needs a whole number/, /gcd 需要整数/],
  ['comb(-1, 2)', /values from 0/, /不能小于 0/],
  ['round(1, 101)', /100 digits/, /位数超过 100/],
  ['1 + )', /"\)" is not expected/, /“\)”不应出现/],
  ['sqrt(1, 2)', /takes 1 value, not 2/, /需要 1 个值，而不是 2 个/],
  ['round()', /takes 1 to 2 values, not 0/, /需要 1 到 2 个值，而不是 0 个/],
  ['max()', /takes at least 1, not 0/, /需要至少 1 个值/],
  ['2**2'.padEnd(300, '**2'), /powers nested/, /乘方嵌套/],
])('%s is refused', (expression, en, zh) => {
  const words = { en: expect.stringMatching(en), zh: expect.stringMatching(zh) };
  expect(() => calculate(expression)).toThrow(expect.objectContaining({ constructor: CalculationFault, words }));
});

test.each([
  ['zh', '工具 calculate 的参数有误，没有执行：/expression 无法计算：除数为零。'],
  [
    'en',
    'The arguments of calculate are not right and nothing was run: /expression cannot be calculated: division by zero.',
  ],
] as const)('a fault is told in the language of the caller: %s', async (locale, message) => {
  const context = { caller: { locale } } as ToolContext;
  const { content, error } = await new CalculateTool().definition.handler({ expression: '1/0' }, context);
  expect(content).toBe('The expression cannot be calculated: division by zero. Correct it and call again.');
  expect(error).toMatchObject({ code: 'bad_arguments', message, explanation: { [locale]: message } });
});
