import { expect, test } from 'vitest';
import type { ModelMessage, ModelTool } from './provider.types.ts';
import { TokenCounter } from './token-counter.ts';

const user = (content: string): ModelMessage => ({ role: 'user', content });
const TOOL: ModelTool = {
  name: 'run_python',
  description: 'Runs code.',
  parameters: { type: 'object', properties: {} },
};

test('known counts of o200k, the frame of a message apart', async () => {
  const counter = new TokenCounter('gpt-4o-mini');
  const frame = (await counter.measure([user('')], [])).messages[0]!;
  const of = async (text: string) => (await counter.measure([user(text)], [])).messages[0]! - frame;
  expect(await of('hello world')).toBe(2);
  expect(await of('你好，世界')).toBe(3);
  expect(await of('<|endoftext|>')).toBeGreaterThan(1);
  expect(counter.kind).toBe('exact');
});

test('the sum is that of its parts', async () => {
  const messages: ModelMessage[] = [
    user('问题'),
    {
      role: 'assistant',
      content: '',
      reasoning: 'why',
      calls: [{ id: 'a', name: 'run_python', arguments: '{"code":"1"}' }],
    },
    { role: 'tool', callId: 'a', name: 'run_python', content: '1' },
  ];
  const measure = await new TokenCounter('anything').measure(messages, [TOOL]);
  expect(measure.messages).toHaveLength(3);
  expect(measure.tokens).toBe(measure.base + measure.tools + measure.messages.reduce((a, b) => a + b, 0));
  expect(measure.tools).toBeGreaterThan(10);
});

test('an unknown model is bounded from above until its server has counted', async () => {
  const messages = [user('分析最近三个月的销售趋势，画一张折线图。'.repeat(20))];
  const exact = (await new TokenCounter('gpt-4o').measure(messages, [])).tokens;
  const counter = new TokenCounter('some-new-model');
  const bound = await counter.measure(messages, []);
  expect(bound.kind).toBe('bound');
  expect(bound.tokens / exact).toBeCloseTo(1.35, 1);
  await counter.learn(messages, [], Math.round(exact * 0.9));
  const calibrated = await counter.measure(messages, []);
  expect(calibrated.kind).toBe('calibrated');
  expect(calibrated.tokens / exact).toBeCloseTo(0.9 * 1.03, 1);
  await counter.learn(messages, [], Math.round(exact * 1.1));
  expect((await counter.measure(messages, [])).tokens).toBeGreaterThanOrEqual(Math.round(exact * 1.1));
});

test('a known tokenizer stays exact while its server agrees', async () => {
  const messages = [user('word '.repeat(300))];
  const counter = new TokenCounter('gpt-4o');
  const { tokens } = await counter.measure(messages, []);
  await counter.learn(messages, [], tokens);
  expect(await counter.measure(messages, [])).toMatchObject({ kind: 'exact', tokens });
  await counter.learn(messages, [], tokens * 1.2);
  const calibrated = await counter.measure(messages, []);
  expect(calibrated.kind).toBe('calibrated');
  expect(calibrated.tokens).toBeGreaterThan(tokens * 1.2);
});

test('a count that no tokenizer explains is not learnt', async () => {
  const messages = [user('word '.repeat(200))];
  const counter = new TokenCounter('some-new-model');
  for (const absurd of [0, 1, 100_000]) await counter.learn(messages, [], absurd);
  expect(counter.kind).toBe('bound');
});

test.each(['啊', 'a', '=', ' ', '🌍', 'й'])(
  'a run of 20,000 × "%s" is counted in pieces of 500 code units',
  async (character) => {
    const counter = new TokenCounter('gpt-4o');
    const of = async (text: string) => (await counter.measure([user(text)], [])).messages[0]! - 4;
    const text = character.repeat(20_000);
    expect(await of(text)).toBe((text.length / 500) * (await of(text.slice(0, 500))));
    expect(await of(text)).toBeLessThanOrEqual(Buffer.byteLength(text));
  },
);

test('the same text is counted once', async () => {
  const counter = new TokenCounter('gpt-4o');
  const long = user('一段很长的历史消息。'.repeat(500));
  const first = await counter.measure([long], []);
  expect(await counter.measure([long], [])).toEqual(first);
});
