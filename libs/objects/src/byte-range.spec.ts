import { expect, test } from 'vitest';
import { entityTag, requestedRange } from './byte-range.ts';

const STORED = { bytes: 10, sha256: 'ab'.repeat(32) };

test.each([
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=2-5', { start: 2, end: 5 }],
  ['bytes=2-', { start: 2, end: 9 }],
  ['bytes=2-99', { start: 2, end: 9 }],
  ['bytes=-3', { start: 7, end: 9 }],
  ['bytes=-99', { start: 0, end: 9 }],
  [' bytes=9- ', { start: 9, end: 9 }],
])('%j is a part', (range, positions) => {
  expect(requestedRange({ range }, STORED)).toEqual(positions);
});

test.each([
  undefined,
  '',
  'bytes=',
  'bytes=-',
  'bytes=5-2',
  'bytes=0-1,4-5',
  'bytes=a-b',
  'lines=0-1',
  'bytes=0-1x',
  `bytes=0-${'9'.repeat(16)}`,
])('%j means all of it', (range) => {
  expect(requestedRange({ range }, STORED)).toBeUndefined();
});

test.each(['bytes=10-', 'bytes=10-12', 'bytes=-0'])('%j is outside of it', (range) => {
  expect(() => requestedRange({ range }, STORED)).toThrow(
    expect.objectContaining({ code: 'range_not_satisfiable', fields: { bytes: 10 } }),
  );
});

test('nothing lies inside of an empty object', () => {
  for (const range of ['bytes=0-', 'bytes=-1']) {
    expect(() => requestedRange({ range }, { ...STORED, bytes: 0 })).toThrow(/is not in it/);
  }
});

test('a part is sent only of the content that the client has begun with', () => {
  const range = 'bytes=5-';
  expect(requestedRange({ range, 'if-range': entityTag(STORED) }, STORED)).toEqual({ start: 5, end: 9 });
  for (const other of ['"cd"', `W/${entityTag(STORED)}`, 'Tue, 01 Dec 2026 00:00:00 GMT']) {
    expect(requestedRange({ range, 'if-range': other }, STORED)).toBeUndefined();
    expect(requestedRange({ range: 'bytes=10-', 'if-range': other }, STORED)).toBeUndefined();
  }
});
