import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { argumentsError, wordsOf } from './argument-faults.ts';

const ajv = new Ajv({ strict: false });

const wordsFor = (schema: object, value: unknown) => {
  ajv.validate(schema, value);
  return wordsOf(ajv.errors![0]!);
};

test.each([
  [{ type: 'integer' }, 'x', '必须是整数（integer）', 'must be an integer'],
  [{ type: ['string', 'null'] }, 1, '必须是文本（string） 或 null', 'must be a string or null'],
  [{ enum: ['fast', 'slow', 3] }, 'x', '只能是：fast, slow, 3', 'must be one of: fast, slow, 3'],
  [{ const: 'on' }, 'off', '只能是：on', 'must be one of: on'],
  [{ minimum: 1 }, 0, '不能小于 1', 'must be at least 1'],
  [{ maximum: 1 }, 2, '不能大于 1', 'must be at most 1'],
  [{ exclusiveMinimum: 1 }, 1, '必须大于 1', 'must be more than 1'],
  [{ exclusiveMaximum: 1 }, 1, '必须小于 1', 'must be less than 1'],
  [{ multipleOf: 5 }, 7, '必须是 5 的倍数', 'must be a multiple of 5'],
  [{ minLength: 1 }, '', '不能为空', 'must not be empty'],
  [{ minLength: 3 }, 'a', '太短，至少 3 个字符', 'is too short: at least 3 characters'],
  [{ maxLength: 2 }, 'abc', '太长，至多 2 个字符', 'is too long: at most 2 characters'],
  [{ pattern: '^a' }, 'b', '不符合格式 ^a', 'does not match the pattern ^a'],
  [{ minItems: 2 }, [1], '项数太少，至少 2 项', 'has too few items: at least 2'],
  [{ maxItems: 1 }, [1, 2], '项数太多，至多 1 项', 'has too many items: at most 1'],
  [{ items: [{}], additionalItems: false }, [1, 2], '项数太多，至多 1 项', 'has too many items: at most 1'],
  [{ items: { type: 'string' } }, [1], '必须是文本（string）', 'must be a string'],
  [{ uniqueItems: true }, [1, 1], '第 1 项与第 2 项重复', 'has the same item twice: number 1 and number 2'],
  [{ additionalProperties: false }, { a: 1 }, '有未知字段 "a"', 'has an unknown field "a"'],
  [
    { not: {} },
    1,
    '不符合工具的要求（not），请对照参数说明',
    'does not fit what the tool asks for (not): see its parameters',
  ],
])('%j against %j is said in both languages', (schema, value, zh, en) => {
  expect(wordsFor(schema, value)).toEqual({ zh, en });
});

test('a long list of allowed values is cut', () => {
  const { en } = wordsFor({ enum: Array.from({ length: 30 }, (_, n) => n) }, 'x');
  expect(en).toMatch(/, 19, …$/);
});

test('faults make one sentence a language; a program gets the places in English', () => {
  const faults = [
    { path: '', words: { zh: '有误', en: 'is wrong' } },
    { path: '/count', words: { zh: '不能大于 1', en: 'must be at most 1' } },
  ];
  const zh = '工具 run 的参数有误，没有执行：整个参数 有误；/count 不能大于 1。';
  const en = 'The arguments of run are not right and nothing was run: the input is wrong; /count must be at most 1.';
  expect(argumentsError('run', faults, 'zh')).toEqual({
    code: 'bad_arguments',
    message: zh,
    explanation: { zh, en },
    issues: [
      { path: '', message: 'is wrong' },
      { path: '/count', message: 'must be at most 1' },
    ],
  });
  expect(argumentsError('run', faults, 'en').message).toBe(en);
});
