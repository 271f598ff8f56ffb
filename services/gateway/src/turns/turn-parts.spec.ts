import { AppError } from '@moli/errors';
import { expect, test } from 'vitest';
import { titleFrom } from './session-title.ts';
import { systemMessage } from './system-message.ts';
import { sendableArguments, triggerOf } from './tool-call.ts';
import { unitOfCalls } from './transcript.ts';
import { type TurnBounds, TurnMeter } from './turn-bounds.ts';

const BOUNDS: TurnBounds = { steps: 3, identicalCalls: 3, badArguments: 2, wallSeconds: 60, tokens: 100 };
const boundOf = (work: () => void): unknown => {
  try {
    work();
  } catch (error) {
    return error instanceof AppError ? `${error.code} ${error.fields.bound}` : error;
  }
  return undefined;
};

test('each bound ends the turn at its number and not before', () => {
  const steps = new TurnMeter(BOUNDS);
  expect([1, 2, 3, 4].map(() => boundOf(() => steps.step()))).toEqual([
    undefined,
    undefined,
    undefined,
    'turn_limit steps',
  ]);
  const tokens = new TurnMeter(BOUNDS);
  tokens.tokens(60, 39);
  expect(boundOf(() => tokens.step())).toBeUndefined();
  tokens.tokens(0, 1);
  expect(boundOf(() => tokens.step())).toBe('turn_limit tokens');
  const calls = new TurnMeter(BOUNDS);
  expect(['{"a": 1}', '{"a":  1}', '{"a": 2}', '{"a": 1}'].map((args) => boundOf(() => calls.call('t', args)))).toEqual(
    [undefined, undefined, undefined, 'turn_limit identical_calls'],
  );
  const bad = new TurnMeter(BOUNDS);
  expect([false, false, true, false, false, false].map((usable) => boundOf(() => bad.result('t', usable)))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    'turn_limit bad_arguments',
  ]);
});

test('the system message names files within 4 KiB each and never splits a character', () => {
  const text = systemMessage({
    prompt: 'Help.',
    files: ['表'.repeat(5_000)],
    outputs: ['a.png', 'a.png'],
    locale: 'zh',
  });
  const [, list] = text.split('\n\n').slice(1);
  expect(Buffer.byteLength(list ?? '')).toBeLessThanOrEqual(4096);
  expect(list).toMatch(/^表+…$/);
  expect(text.match(/- a\.png/g)).toHaveLength(1);
});

test('the title is the first line that says something', () => {
  expect(titleFrom('\n  分析\t销售 \n more', undefined)).toBe('分析 销售');
  expect(titleFrom('', 'sales.csv')).toBe('sales.csv');
  expect([...titleFrom('😀'.repeat(100), undefined)]).toHaveLength(60);
});

test('arguments that go back to a model server are always a JSON object', () => {
  const call = (args: string) => ({ id: 'c', name: 't', arguments: args });
  const result = { ok: true, content: '', artifacts: [], durationMs: 1, cached: false };
  expect(sendableArguments(call('{"n": 9007199254740993}'), result)).toBe('{"n": 9007199254740993}');
  expect(sendableArguments(call('print(1)'), { ...result, arguments: { code: 'print(1)' } })).toBe(
    '{"code":"print(1)"}',
  );
  expect(sendableArguments(call('[1,2]'), { ...result, ok: false })).toBe('{}');
});

test('a result that prints a picture as text reaches the model without it', () => {
  const picture = Buffer.alloc(900, 7).toString('base64');
  const [, answer] = unitOfCalls('', [
    { call: { id: 'c', name: 't', arguments: '{}' }, result: `ok\n${picture}\ndone` },
  ]);
  expect(answer?.content).toMatch(/^ok\n\[\d+ characters of encoded data left out\]\ndone$/);
});

test('the reason for a call is what was said before it, else what was thought', () => {
  expect(triggerOf({ text: ' I look. ', reasoning: 'hm' })).toBe('I look.');
  expect(triggerOf({ text: '', reasoning: `${'x'.repeat(600)}end` })).toMatch(/^…x+end$/);
});
