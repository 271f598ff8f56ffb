import { expect, test } from 'vitest';
import { parseExact } from '../models/exact-json.ts';
import { mergePieces, type PendingEvent } from './pending-events.ts';
import { StorablePieces, storableData, storableText } from './storable.ts';

const piece = (type: PendingEvent['type'], text: string, data: object = {}, messageId = 'm'): PendingEvent => ({
  type,
  turnId: 't',
  messageId,
  at: new Date(0),
  data: { ...data, text },
});
const texts = (events: readonly PendingEvent[]): unknown[] => events.map(({ data }) => data.text);

test('pieces of one text are joined, and only those', () => {
  const out = { callId: 'c', runId: 'r', stream: 'stdout' };
  const merged = mergePieces([
    piece('text.delta', 'a'),
    piece('text.delta', 'b'),
    piece('reasoning.delta', 'c'),
    piece('text.delta', 'd', {}, 'other'),
    piece('text.delta', 'e'),
    piece('run.output', 'f', out),
    piece('run.output', 'g', out),
    piece('run.output', 'h', { ...out, stream: 'stderr' }),
    piece('run.output', 'i', { ...out, callId: 'c2' }),
  ]);
  expect(texts(merged)).toEqual(['ab', 'c', 'd', 'e', 'fg', 'h', 'i']);
  expect(merged[4]?.data).toMatchObject(out);
});

test('events that say things are never joined', () => {
  const stage = { ...piece('run.started', ''), data: { callId: 'c', runId: 'r', stage: 'running' } };
  expect(mergePieces([stage, stage])).toHaveLength(2);
});

test('a flood becomes events of a bounded size with the same text', () => {
  const flood = Array.from({ length: 5_000 }, () =>
    piece('run.output', 'x'.repeat(100), { callId: 'c', stream: 'stdout' }),
  );
  const merged = mergePieces(flood);
  expect(Math.max(...merged.map(({ data }) => String(data.text).length))).toBeLessThanOrEqual(64 * 1024);
  expect(merged.map(({ data }) => data.text).join('')).toHaveLength(500_000);
});

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
