import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { decodeBytes, guessEncoding, readLines } from './text-slice.ts';

/** Bytes in pieces of one, so that every character is cut somewhere. */
const byByte = (bytes: Uint8Array) => Readable.from([...bytes].map((byte) => Buffer.of(byte)));
const utf8 = (text: string) => Buffer.from(text, 'utf8');
const GBK_ZHONG = Buffer.from([0xd6, 0xd0, 0x0a, 0xce, 0xc4, 0x0a]);

test('lines are counted from 1 and the rest is announced', async () => {
  const text = '一\n二\n三\n四';
  const bounds = { from: 2, lines: 2, characters: 100 };
  expect(await readLines(byByte(utf8(text)), 'utf-8', bounds)).toEqual({
    text: '二\n三\n',
    firstLine: 2,
    lastLine: 3,
    more: true,
    cutLine: false,
  });
  expect(await readLines(byByte(utf8(text)), 'utf-8', { ...bounds, from: 4 })).toMatchObject({
    text: '四',
    more: false,
  });
  expect(await readLines(byByte(utf8(text)), 'utf-8', { ...bounds, from: 9 })).toMatchObject({ text: '', more: false });
});

test('other encodings are read as they are', async () => {
  const bounds = { from: 1, lines: 10, characters: 100 };
  expect((await readLines(byByte(GBK_ZHONG), 'gb18030', bounds)).text).toBe('中\n文\n');
  expect((await readLines(byByte(Buffer.from('\ufeff中', 'utf16le')), 'utf-16le', bounds)).text).toBe('中');
  expect((await readLines(byByte(utf8('\ufeffa')), 'utf-8-sig', bounds)).text).toBe('a');
});

test('a file of one endless line is bounded', async () => {
  const endless = Readable.from(
    (function* () {
      for (let i = 0; i < 10_000; i++) yield Buffer.alloc(1000, 'x');
    })(),
  );
  const slice = await readLines(endless, 'utf-8', { from: 1, lines: 10, characters: 500 });
  expect(slice).toMatchObject({ more: true, cutLine: true });
  expect(slice.text.length).toBe(500);
});

test('many long lines stop at the bound on characters', async () => {
  const slice = await readLines(Readable.from([utf8(`${'a'.repeat(99)}\n`.repeat(50))]), 'utf-8', {
    from: 1,
    lines: 50,
    characters: 1000,
  });
  expect(slice).toMatchObject({ lastLine: 10, more: true });
});

test('bytes that are no text are refused', async () => {
  await expect(
    readLines(byByte(Buffer.from([1, 0, 2])), 'utf-8', { from: 1, lines: 1, characters: 10 }),
  ).rejects.toMatchObject({ code: 'unreadable_file' });
});

test('a range of bytes shows no halves of characters', () => {
  expect(decodeBytes(utf8('中文').subarray(1, 5), 'utf-8')).toBe('');
  expect(decodeBytes(utf8('a中b').subarray(0, 3), 'utf-8')).toBe('a');
});

test('the encoding of what a program made is guessed', () => {
  expect(guessEncoding(utf8('plain'))).toBe('utf-8');
  expect(guessEncoding(utf8('中文').subarray(0, 5))).toBe('utf-8');
  expect(guessEncoding(GBK_ZHONG)).toBe('gb18030');
  expect(guessEncoding(Buffer.from('\ufeffa', 'utf16le'))).toBe('utf-16le');
  expect(guessEncoding(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]))).toBeNull();
});
