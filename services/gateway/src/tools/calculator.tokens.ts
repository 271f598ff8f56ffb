import { CalculationFault } from './exact-number.ts';

/** A word of an expression. */
export interface Token {
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

/** The words of an expression, with an end behind the last. Throws CalculationFault at what is none. */
export function tokenize(expression: string): Token[] {
  const text = normalize(expression);
  if (text === '') throw new CalculationFault({ zh: '算式是空的', en: 'the expression is empty' });
  const tokens: Token[] = [];
  // Which open brackets belong to a function: there a comma parts arguments.
  const brackets: boolean[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) {
      const shown = text.slice(at, at + 10).trim();
      throw new CalculationFault({ zh: `无法识别“${shown}”`, en: `"${shown}" cannot be read` });
    }
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
    throw new CalculationFault({
      zh: `函数里的“${text}”可以是一个数，也可以是几个数：请去掉千位分隔符，或在逗号后加空格`,
      en: `"${text}" inside a function can be one number or several: write it without thousands separators, or with a space after the comma`,
    });
  }
  if (text.includes(',') && !/^\d{1,3}(,\d{3})+(\D|$)/.test(text))
    throw new CalculationFault({ zh: `“${text}”不是数字`, en: `"${text}" is not a number` });
  return text.replace(/[,_]/g, '');
}
