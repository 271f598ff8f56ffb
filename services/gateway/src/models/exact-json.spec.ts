import { expect, test } from 'vitest';
import { parseExact } from './exact-json.ts';

test.each([
  '-9007199254740993',
  '12345678901234567890',
  '0.12345678901234567891',
  '1e400',
  '-2.5000000000000000001E+30',
  '123e-400',
])('%s keeps its digits wherever it stands in JSON', (number) => {
  const text = `{"n":${number},"list":[${number},${number} , ${number}],"id":"x-8e12"}`;
  expect(JSON.stringify(parseExact(text))).toBe(text.replaceAll(' ', ''));
  expect(JSON.stringify(parseExact(number))).toBe(number);
});
