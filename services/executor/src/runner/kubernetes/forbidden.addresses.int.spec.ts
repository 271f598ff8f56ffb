import { expect, it } from 'vitest';
import { addressesOf } from './forbidden.addresses.ts';

it.each([
  ['redis://10.0.0.5', ['10.0.0.5:6379']],
  ['rediss://user:p%40ss@10.0.0.5:6380/2', ['10.0.0.5:6380']],
  ['redis://[fd00::7]:6379', ['[fd00::7]:6379']],
  ['redis://nothing.invalid', []],
])('%s is at %j', async (url, addresses) => {
  expect(await addressesOf(url)).toEqual(addresses);
});

it('looks names up', async () => {
  expect(await addressesOf('redis://localhost:7000')).toContain('127.0.0.1:7000');
});
