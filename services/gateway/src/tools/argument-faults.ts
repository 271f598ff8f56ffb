import type { Locale } from '@moli/errors';
import type { ErrorObject } from 'ajv';
import type { ToolError } from './tool.types.ts';

/** What a person or a model reads, in each language. */
export type Words = Readonly<Record<Locale, string>>;

/** One fault in the arguments: where (JSON pointer; '' is the whole) and what, as the end of a sentence that begins with the place. */
export interface ArgumentFault {
  readonly path: string;
  readonly words: Words;
}

/** Of a list of allowed values, so many are named. */
const VALUES_SHOWN = 20;

const TYPES: Readonly<Record<string, Words>> = {
  string: { zh: '文本（string）', en: 'a string' },
  integer: { zh: '整数（integer）', en: 'an integer' },
  number: { zh: '数字（number）', en: 'a number' },
  boolean: { zh: 'true 或 false（boolean）', en: 'a boolean' },
  array: { zh: '列表（array）', en: 'an array' },
  object: { zh: '对象（object）', en: 'an object' },
  null: { zh: 'null', en: 'null' },
};

/** Faults as the error of a call: each with its place in both languages; `issues` is what programs read, in English. */
export function argumentsError(tool: string, faults: readonly ArgumentFault[], locale: Locale): ToolError {
  const list = (language: Locale, whole: string): string =>
    faults
      .map(({ path, words }) => `${path === '' ? whole : path} ${words[language]}`)
      .join(language === 'zh' ? '；' : '; ');
  const explanation = {
    zh: `工具 ${tool} 的参数有误，没有执行：${list('zh', '整个参数')}。`,
    en: `The arguments of ${tool} are not right and nothing was run: ${list('en', 'the input')}.`,
  };
  return {
    code: 'bad_arguments',
    message: explanation[locale],
    explanation,
    issues: faults.map(({ path, words }) => ({ path, message: words.en })),
  };
}

/** A field that is not there; `type` is a type of JSON Schema. */
export function missing(type: string | undefined): Words {
  return type
    ? { zh: `缺少，必须是${TYPES[type]?.zh ?? type}`, en: `is required (${type})` }
    : { zh: '缺少，必须给出', en: 'is required' };
}

/** What Ajv found, without its own words, which are English only and meant for programmers. */
export function wordsOf({ keyword, params }: ErrorObject): Words {
  const limit = String(params.limit);
  switch (keyword) {
    case 'type':
      return typeWords([params.type as string | string[]].flat());
    case 'enum':
      return oneOf(params.allowedValues as readonly unknown[]);
    case 'const':
      return oneOf([params.allowedValue]);
    case 'minimum':
      return { zh: `不能小于 ${limit}`, en: `must be at least ${limit}` };
    case 'maximum':
      return { zh: `不能大于 ${limit}`, en: `must be at most ${limit}` };
    case 'exclusiveMinimum':
      return { zh: `必须大于 ${limit}`, en: `must be more than ${limit}` };
    case 'exclusiveMaximum':
      return { zh: `必须小于 ${limit}`, en: `must be less than ${limit}` };
    case 'multipleOf':
      return { zh: `必须是 ${params.multipleOf} 的倍数`, en: `must be a multiple of ${params.multipleOf}` };
    case 'minLength':
      return params.limit === 1
        ? { zh: '不能为空', en: 'must not be empty' }
        : { zh: `太短，至少 ${limit} 个字符`, en: `is too short: at least ${limit} characters` };
    case 'maxLength':
      return { zh: `太长，至多 ${limit} 个字符`, en: `is too long: at most ${limit} characters` };
    case 'pattern':
      return { zh: `不符合格式 ${params.pattern}`, en: `does not match the pattern ${params.pattern}` };
    case 'minItems':
      return { zh: `项数太少，至少 ${limit} 项`, en: `has too few items: at least ${limit}` };
    case 'maxItems':
    case 'additionalItems':
      return { zh: `项数太多，至多 ${limit} 项`, en: `has too many items: at most ${limit}` };
    case 'uniqueItems':
      return {
        zh: `第 ${params.j + 1} 项与第 ${params.i + 1} 项重复`,
        en: `has the same item twice: number ${params.j + 1} and number ${params.i + 1}`,
      };
    case 'additionalProperties': {
      const field = `"${String(params.additionalProperty).slice(0, 60).toWellFormed()}"`;
      return { zh: `有未知字段 ${field}`, en: `has an unknown field ${field}` };
    }
    default:
      return {
        zh: `不符合工具的要求（${keyword}），请对照参数说明`,
        en: `does not fit what the tool asks for (${keyword}): see its parameters`,
      };
  }
}

function typeWords(types: readonly string[]): Words {
  return {
    zh: `必须是${types.map((type) => TYPES[type]?.zh ?? type).join(' 或 ')}`,
    en: `must be ${types.map((type) => TYPES[type]?.en ?? type).join(' or ')}`,
  };
}

function oneOf(values: readonly unknown[]): Words {
  const list = values
    .slice(0, VALUES_SHOWN)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  const shown = `${list.join(', ')}${values.length > VALUES_SHOWN ? ', …' : ''}`;
  return { zh: `只能是：${shown}`, en: `must be one of: ${shown}` };
}
