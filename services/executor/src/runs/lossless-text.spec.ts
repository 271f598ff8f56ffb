import { describe, expect, it } from 'vitest';
import { escapeInvalid, LosslessDecoder } from './lossless-text.ts';

function through(bytes: Buffer, size: number): { text: string; exact: boolean } {
  const decoder = new LosslessDecoder();
  let text = '';
  for (let at = 0; at < bytes.length; at += size) text += decoder.push(bytes.subarray(at, at + size));
  text += decoder.end();
  return { text, exact: decoder.exact };
}

/** What a reader would do to get the bytes back: the inverse of the escape for text that has no backslash of its own. */
function bytesOf(text: string): Buffer {
  const parts = text.split(/(\\x[0-9a-f]{2})/);
  return Buffer.concat(
    parts.map((part) =>
      part.startsWith('\\x') ? Buffer.from([Number.parseInt(part.slice(2), 16)]) : Buffer.from(part),
    ),
  );
}

describe('output as text', () => {
  const samples: [string, Buffer, string, boolean][] = [
    ['ASCII', Buffer.from('a\r\nb\u0000c'), 'a\r\nb\u0000c', true],
    ['Chinese and emoji', Buffer.from('销售额 📈 é'), '销售额 📈 é', true],
    ['a byte order mark', Buffer.from('\ufeffx'), '\ufeffx', true],
    [
      'line separators and escapes',
      Buffer.from('\u2028\u001b[31m\u001b]52;c;eA==\u0007'),
      '\u2028\u001b[31m\u001b]52;c;eA==\u0007',
      true,
    ],
    ['GBK', Buffer.from([0xcf, 0xfa, 0xca, 0xdb]), '\\xcf\\xfa\\xca\\xdb', false],
    ['a lone byte between text', Buffer.from([0x61, 0xff, 0x62]), 'a\\xffb', false],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80, 0x41]), '\\xed\\xa0\\x80A', false],
    ['an overlong slash', Buffer.from([0xc0, 0xaf]), '\\xc0\\xaf', false],
    ['a character cut by the end', Buffer.from([0x41, 0xe9, 0x94]), 'A\\xe9\\x94', false],
    ['a cut character before another', Buffer.from([0xe9, 0x94, 0x41, 0xe9, 0x94, 0x80]), '\\xe9\\x94A销', false],
    ['above U+10FFFF', Buffer.from([0xf4, 0x90, 0x80, 0x80]), '\\xf4\\x90\\x80\\x80', false],
  ];

  it.each(samples)('%s, whatever the pieces', (_, bytes, text, exact) => {
    for (const size of [1, 2, 3, 4, 64]) expect(through(bytes, size)).toEqual({ text, exact });
    expect(escapeInvalid(bytes)).toBe(text);
    expect(bytesOf(text).equals(bytes)).toBe(true);
  });

  it('holds back only what may still become a character', () => {
    const decoder = new LosslessDecoder();
    expect(decoder.push(Buffer.from([0x41, 0xf0, 0x9f, 0x93]))).toBe('A');
    expect(decoder.push(Buffer.from([0x88]))).toBe('📈');
    expect(decoder.exact).toBe(true);
    expect(decoder.push(Buffer.from([0xe9, 0x94]))).toBe('');
    // The stream may end here, and what waits is no text.
    expect(decoder.exact).toBe(false);
    expect(decoder.push(Buffer.from('A'))).toBe('\\xe9\\x94A');
  });
});
