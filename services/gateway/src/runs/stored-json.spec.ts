import { describe, expect, it } from 'vitest';
import { fromStored, toStored } from './stored-json.ts';

describe('stored JSON', () => {
  it.each([
    ['plain', { stdout: '销售额 📈\n', n: 1, list: ['a', null, true] }],
    ['NUL', { stdout: 'a\u0000b\u0000' }],
    ['halves of pairs', { stdout: '\ud83d x \udcc8', 'key\udfff': '\ud800' }],
    ['its own escape', { stdout: '\ue000 \ue0000000 \ue000e000' }],
    ['text that looks like an escape in JSON', { stdout: '\\u0000 \\ud800' }],
  ])('gives back %s', (_, value) => {
    const stored = toStored(value);
    expect(fromStored(JSON.parse(stored))).toEqual(value);
  });

  it('has nothing that jsonb refuses', () => {
    const stored = toStored({ text: 'a\u0000\ud800\udc00\udc00 \ud83d' });
    expect(stored).not.toMatch(/\\u0000/);
    expect(JSON.parse(stored).text.isWellFormed()).toBe(true);
    expect(JSON.parse(stored).text).not.toContain('\u0000');
  });
});
