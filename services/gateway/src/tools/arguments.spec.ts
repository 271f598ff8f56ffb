import { expect, test } from 'vitest';
import { checkArguments } from './arguments.ts';
import { RUN_PYTHON } from './run-python.schema.ts';

/** A tool with one field of every kind. */
const TOOL = {
  parameters: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { type: 'integer', minimum: 0, maximum: 100 },
      ratio: { type: 'number' },
      flag: { type: 'boolean' },
      names: { type: 'array', items: { type: 'string' } },
      options: { type: 'object', properties: { depth: { type: 'integer' } }, additionalProperties: false },
      mode: { type: 'string', enum: ['fast', 'slow'] },
      size: { type: 'integer', default: 10 },
      path: { type: 'string' },
      command: { type: 'string' },
    },
    required: ['text'],
    additionalProperties: false,
  },
};

const argumentsOf = (raw: string | object, tool: Parameters<typeof checkArguments>[1] = TOOL) => {
  const checked = checkArguments(raw, tool);
  if ('faults' in checked) throw new Error(JSON.stringify(checked.faults));
  return checked.value;
};
const faultsOf = (raw: string | object, tool: Parameters<typeof checkArguments>[1] = TOOL) => {
  const checked = checkArguments(raw, tool);
  return 'faults' in checked ? checked.faults : [];
};

test.each([
  ['a number in a string', { text: 'a', count: '42', ratio: '0.5' }, { count: 42, ratio: 0.5 }],
  ['a boolean in a string', { text: 'a', flag: 'true' }, { flag: true }],
  ['a number for a text', { text: 7 }, { text: '7' }],
  ['an extra field', { text: 'a', hello: 1, __proto__x: 2 }, {}],
  ['null for an optional field', { text: 'a', count: null }, {}],
  ['an object as JSON text', { text: 'a', options: '{"depth": "3", "more": 1}' }, { options: { depth: 3 } }],
  ['a list as JSON text', { text: 'a', names: '["x", 1]' }, { names: ['x', '1'] }],
  ['one thing for a list', { text: 'a', names: 'x.csv' }, { names: ['x.csv'] }],
  ['everything right', { text: 'a', count: 1, mode: 'fast' }, { count: 1, mode: 'fast' }],
])('%s is repaired', (_, given, repaired) => {
  const wanted = { text: 'a', size: 10, ...repaired };
  expect(argumentsOf(given)).toEqual(wanted);
  expect(argumentsOf(JSON.stringify(given))).toEqual(wanted);
});

test.each([
  ['a missing field', {}, '/text', /is required \(string\)/],
  ['null for a needed field', { text: null }, '/text', /is required/],
  ['a text that is no number', { text: 'a', count: 'many' }, '/count', /integer/],
  ['a number with two readings', { text: 'a', count: '1,000' }, '/count', /integer/],
  ['a number out of range', { text: 'a', count: 101 }, '/count', /at most 100/],
  ['a fraction for a whole number', { text: 'a', count: '1.5' }, '/count', /integer/],
  ['a word that is not offered', { text: 'a', mode: 'medium' }, '/mode', /fast, slow/],
  ['a number for a path', { text: 'a', path: 5 }, '/path', /string/],
  ['a list for a command', { text: 'a', command: ['rm', '-rf'] }, '/command', /string/],
  ['a broken inner object', { text: 'a', options: '{"depth": 3' }, '/options', /object/],
  ['a wrong type inside', { text: 'a', options: { depth: 'deep' } }, '/options/depth', /integer/],
  ['a NUL', { text: 'a\u0000b' }, '/text', /NUL/],
])('%s is refused with its place', (_, given, path, message) => {
  expect(faultsOf(given)).toContainEqual({
    path,
    words: { zh: expect.stringMatching(/\p{Script=Han}/u), en: expect.stringMatching(message) },
  });
});

test('every fault is named, not only the first', () => {
  expect(
    faultsOf({ count: 'x', mode: 'y' })
      .map(({ path }) => path)
      .sort(),
  ).toEqual(['/count', '/mode', '/text']);
});

test.each([
  '[1,2]',
  '"text"',
  '42',
  'null',
  'true',
  '{"text": "a"',
  '{"text": "a"} {"text": "b"}',
  "{'text': 'a'}",
  '{"text": a}',
  '<xml/>',
  'plain words',
])('%s is no object for a tool without code', (raw) => {
  expect(faultsOf(raw)[0]?.path).toBe('');
});

test.each([
  ['twice in quotes', JSON.stringify(JSON.stringify({ text: 'a' }))],
  ['in a fence', '```json\n{"text": "a"}\n```'],
  ['line breaks between tokens', '{\\n  "text": "a"\\n}'],
  ['a comma too many', '{"text": "a",}'],
  ['sent twice', '{"text": "a"}{"text": "a"}'],
  ['with a byte order mark', '\ufeff{"text": "a"}'],
])('an object %s is read', (_, raw) => {
  expect(argumentsOf(raw)).toEqual({ text: 'a', size: 10 });
});

test.each([
  ['bare', 'print("MARK", 6*7)'],
  ['in a fence', '```python\nprint("MARK", 6*7)\n```'],
  ['in quotes', JSON.stringify('print("MARK", 6*7)')],
  ['as JSON', '{"code": "print(\\"MARK\\", 6*7)"}'],
])('code %s is exactly that code', (_, raw) => {
  expect(argumentsOf(raw, RUN_PYTHON)).toEqual({ code: 'print("MARK", 6*7)' });
});

test('raw line breaks inside a string are kept', () => {
  expect(argumentsOf('{"code": "a = 1\n\tprint(a)"}', RUN_PYTHON)).toEqual({ code: 'a = 1\n\tprint(a)' });
  expect(argumentsOf('import os\nprint(1)\n', RUN_PYTHON)).toEqual({ code: 'import os\nprint(1)\n' });
});

test.each([
  "{\"code\": \"open('a.txt','w').write('x')\\nprint(1",
  '{"code": "print("hi")"}',
  '[print(1)]',
  '"print(1',
  '```python\nprint(1)',
  '',
  '{}',
  '{"source": "print(1)"}',
])('what may be a cut or broken object never runs as code: %s', (raw) => {
  expect(faultsOf(raw, RUN_PYTHON).length).toBeGreaterThan(0);
});

test('big integers keep their digits', () => {
  const tool = {
    parameters: { type: 'object', properties: { id: { type: 'integer' }, text: { type: 'string' }, any: {} } },
  };
  const value = argumentsOf(
    '{"id": 9007199254740993, "text": 9007199254740993, "any": [12345678901234567890, 0.1]}',
    tool,
  );
  expect(JSON.stringify(value)).toBe(
    '{"id":9007199254740993,"text":"9007199254740993","any":[12345678901234567890,0.1]}',
  );
  expect(JSON.stringify(argumentsOf('{"id": "9007199254740993"}', tool))).toBe('{"id":9007199254740993}');
});

test('digits that a plain parser has lost already are not made up', () => {
  const lost = JSON.parse('{"text": 9007199254740993, "more": 9007199254740993}');
  expect(faultsOf(lost)).toEqual([
    {
      path: '/text',
      words: { zh: expect.stringContaining('文本形式'), en: expect.stringContaining('send it as text') },
    },
  ]);
  expect(argumentsOf('{"text": 9007199254740993}')).toMatchObject({ text: '9007199254740993' });
  expect(argumentsOf(JSON.parse('{"text": "a", "more": 9007199254740993}'))).toMatchObject({ text: 'a' });
});

test('malformed calls are repaired or refused, never let through wrong', () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed % n;
  };
  const values: unknown[] = [
    'a',
    '',
    0,
    1.5,
    -1,
    true,
    null,
    [],
    ['x', 2],
    {},
    { depth: '2' },
    '5',
    'true',
    '{"depth":1}',
    '[1]',
    1e21,
    '\u0000',
    'fast',
  ];
  const keys = [...Object.keys(TOOL.parameters.properties), 'extra', 'constructor', 'a/b'];
  for (let i = 0; i < 5000; i++) {
    const given = Object.fromEntries(
      Array.from({ length: random(6) }, () => [keys[random(keys.length)], values[random(values.length)]]),
    );
    const raw = random(2) === 0 ? given : JSON.stringify(given);
    const checked = checkArguments(raw, TOOL);
    if ('faults' in checked) expect(checked.faults.length).toBeGreaterThan(0);
    else expect(wellTyped(checked.value), JSON.stringify([given, checked.value])).toBe(true);
  }
});

/** The schema of TOOL, said once more by hand. */
function wellTyped(value: Record<string, unknown>): boolean {
  const whole = (v: unknown, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_VALUE) =>
    Number.isInteger(v) && (v as number) >= least && (v as number) <= most;
  const checks: Record<string, (v: unknown) => boolean> = {
    text: (v) => typeof v === 'string',
    count: (v) => whole(v, 0, 100),
    ratio: (v) => typeof v === 'number',
    flag: (v) => typeof v === 'boolean',
    names: (v) => Array.isArray(v) && v.every((x) => typeof x === 'string'),
    options: (v) =>
      typeof v === 'object' && v !== null && Object.entries(v).every(([k, x]) => k === 'depth' && whole(x)),
    mode: (v) => v === 'fast' || v === 'slow',
    size: (v) => whole(v),
    path: (v) => typeof v === 'string',
    command: (v) => typeof v === 'string',
  };
  return 'text' in value && Object.entries(value).every(([key, v]) => checks[key]?.(v) === true);
}
