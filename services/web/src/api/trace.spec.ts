import { expect, test } from 'vitest';
import { endTrace, traceparent } from './trace.ts';

test('uploads and their message share a trace, the next message has another', () => {
  const parts = [traceparent('a'), traceparent('a'), traceparent('b')].map((value) => value.split('-'));
  expect(
    parts.every(
      ([version, trace, span, flags]) =>
        version === '00' && /^[0-9a-f]{32}$/.test(trace ?? '') && /^[0-9a-f]{16}$/.test(span ?? '') && flags === '01',
    ),
  ).toBe(true);
  expect(parts[0]?.[1]).toBe(parts[1]?.[1]);
  expect(parts[0]?.[2]).not.toBe(parts[1]?.[2]);
  expect(parts[0]?.[1]).not.toBe(parts[2]?.[1]);
  endTrace('a');
  expect(traceparent('a').split('-')[1]).not.toBe(parts[0]?.[1]);
});
