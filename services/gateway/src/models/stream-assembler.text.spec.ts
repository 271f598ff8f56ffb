import { describe, expect, test } from 'vitest';
import { assemble, content, delta } from './stream-assembler.fixture.ts';

describe('text and thinking', () => {
  test.each<[string, unknown[], string, string]>([
    [
      'parts in place of a string',
      [
        [
          { type: 'thinking', thinking: [{ type: 'text', text: 't' }] },
          { type: 'text', text: 'a' },
        ],
      ],
      'a',
      't',
    ],
    ['null and empty', [null, '', 'a', undefined], 'a', ''],
    ['the long tag', ['<thinking>t</thinking>a'], 'a', 't'],
    ['nothing in the tag', ['<think>\n\n</think>\n\na'], 'a', ''],
    ['a tag that is no tag', ['<thinker>a'], '<thinker>a', ''],
    ['a tag later on', ['a <think>b</think>'], 'a <think>b</think>', ''],
    ['a NUL', ['a\u0000b'], 'a\ufffdb', ''],
    ['half a character at the end', ['a\ud83c'], 'a\ufffd', ''],
  ])('%s', (_, pieces, text, reasoning) => {
    expect(assemble([...pieces.map(content), delta({}, 'stop')])).toMatchObject({ text, reasoning, fault: undefined });
  });

  test('both names of the thinking with the same words count once', () => {
    expect(
      assemble([delta({ reasoning: 'r', reasoning_content: 'r' }), content('a'), delta({}, 'stop')]),
    ).toMatchObject({ reasoning: 'r' });
  });

  test('messages that repeat all so far are not doubled', () => {
    const whole = (text: string) => ({ choices: [{ message: { role: 'assistant', content: text } }] });
    expect(assemble([whole('你'), whole('你好'), whole('你好世界'), delta({}, 'stop')]).text).toBe('你好世界');
  });

  test('only the first of several answers is read', () => {
    const second = {
      choices: [
        { index: 1, delta: { content: 'no' } },
        { index: 0, delta: { content: 'yes' } },
      ],
    };
    expect(assemble([second, delta({}, 'stop')]).text).toBe('yes');
  });
});
