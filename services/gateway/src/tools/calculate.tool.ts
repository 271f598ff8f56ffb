import { Injectable } from '@nestjs/common';
import { argumentsError } from './argument-faults.ts';
import { calculate } from './calculator.ts';
import { CalculationFault, showValue } from './exact-number.ts';
import type { ToolContext, ToolDefinition, ToolOutput } from './tool.types.ts';

/** Arithmetic without a sandbox. */
@Injectable()
export class CalculateTool {
  readonly definition: ToolDefinition = {
    name: 'calculate',
    aliases: ['calculator'],
    description: [
      'Calculate one arithmetic expression exactly: decimals and big integers keep every digit. For data in files, many numbers or charts use run_python.',
      'Operators: + - * / // % ** ^ (power) ! and brackets; "%" after a number is a percentage (200 * 15%), between numbers a remainder. Also 万 and 亿.',
      'Functions: sqrt, cbrt, abs, round(x, digits), floor, ceil, trunc, min, max, sum, avg, pow, mod, gcd, lcm, factorial, comb, perm, exp, ln, log(x, base), log10, log2, sin, cos, tan, asin, acos, atan (radians), degrees, radians. Constants: pi, e, tau.',
    ].join('\n'),
    parameters: {
      type: 'object',
      properties: {
        expression: {
          type: 'string',
          minLength: 1,
          maxLength: 1000,
          description: 'For example (1280.5 - 990) / 990 * 100',
        },
      },
      required: ['expression'],
      additionalProperties: false,
    },
    kind: 'builtin',
    permissions: [],
    flags: { cacheable: true, sideEffects: false, highRisk: false, timeoutSeconds: 5 },
    handler: async (args, context) => output(String(args.expression), context),
  };
}

function output(expression: string, { caller }: ToolContext): ToolOutput {
  try {
    const { text, exact } = showValue(calculate(expression));
    return { content: `${expression.trim()} ${exact ? '=' : '≈'} ${text}`, state: { value: text, exact } };
  } catch (fault) {
    if (!(fault instanceof CalculationFault)) throw fault;
    const words = { zh: `无法计算：${fault.words.zh}`, en: `cannot be calculated: ${fault.words.en}` };
    return {
      content: `The expression cannot be calculated: ${fault.words.en}. Correct it and call again.`,
      error: argumentsError('calculate', [{ path: '/expression', words }], caller.locale),
    };
  }
}
