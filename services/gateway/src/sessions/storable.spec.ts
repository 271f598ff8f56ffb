import { expect, test } from 'vitest';
import { parseExact } from '../models/exact-json.ts';
import { StorablePieces, storableData, storableText } from './storable.ts';

test('what jsonb refuses is replaced, and a character in two pieces comes out whole', () => {
  expect(storableText('a\u0000b\ud800')).toBe('a\ufffdb\ufffd');
  expect(storableData({ a: ['\u0000', { '\udc00': 1 }], b: '\\u0000', c: undefined })).toEqual({
    a: ['\ufffd', { '\ufffd': 1 }],
    b: '\\u0000',
  });
  expect(storableData({ id: parseExact('{"n":9007199254740993,"m":1.50,"k":9007199254740992}') })).toEqual({
    id: { n: '9007199254740993', m: 1.5, k: 9007199254740992 },
  });
  const pieces = new StorablePieces();
  expect([pieces.push('x\ud83d'), pieces.push('\ude00y'), pieces.push('\ud83d'), pieces.end()]).toEqual([
    'x',
    '😀y',
    '',
    '\ufffd',
  ]);
});
