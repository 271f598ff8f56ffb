import { expect, test } from 'vitest';
import { frameBounds, frameHeight } from './frame-height.ts';

const sealed = {} as Window;
const told = (data: unknown, from: Partial<Pick<MessageEvent, 'origin' | 'source'>> = {}) =>
  frameHeight({ data, origin: 'null', source: sealed, ...from }, { contentWindow: sealed });

test('a sealed page tells its height, within bounds', () => {
  expect(told({ moliFrameHeight: 300.4 })).toBe(301);
  expect(told({ moliFrameHeight: 1 })).toBe(frameBounds.least);
  expect(told({ moliFrameHeight: 1e9 })).toBe(frameBounds.most);
});

test.each([
  null,
  undefined,
  'moliFrameHeight',
  300,
  [],
  {},
  { moliFrameHeight: '300' },
  { moliFrameHeight: Number.NaN },
  { moliFrameHeight: Number.POSITIVE_INFINITY },
  { moliFrameHeight: -5 },
  { moliFrameHeight: [300] },
])('no height: %o', (data) => {
  expect(told(data)).toBeNull();
});

test('only the frame itself is believed, and only while it is sealed', () => {
  const data = { moliFrameHeight: 300 };
  expect(told(data, { source: {} as Window })).toBeNull();
  expect(told(data, { source: null })).toBeNull();
  expect(told(data, { origin: 'http://localhost:8000' })).toBeNull();
  expect(frameHeight({ data, origin: 'null', source: null }, { contentWindow: null })).toBeNull();
});
