import { expect, test } from 'vitest';
import { KeySeal } from './key-seal.ts';

const place = { tenantId: 'ten_a', id: 'mdl_a' };
const seal = new KeySeal('1'.repeat(64));

test('a sealed key opens at its place alone', () => {
  const sealed = seal.seal('sk-密钥-1', place);
  expect(seal.open(sealed, place)).toBe('sk-密钥-1');
  for (const elsewhere of [
    { ...place, tenantId: 'ten_b' },
    { ...place, id: 'mdl_b' },
  ]) {
    expect(() => seal.open(sealed, elsewhere)).toThrow(expect.objectContaining({ code: 'unavailable' }));
  }
});

test('nothing of the key is readable, and the same key never looks the same', () => {
  const key = 'sk-0123456789abcdef0123456789abcdef';
  const sealed = seal.seal(key, place);
  for (const form of ['latin1', 'hex', 'base64'] as const) {
    expect(sealed.toString(form)).not.toContain(Buffer.from(key).toString(form).slice(0, 12));
  }
  expect(seal.seal(key, place).equals(sealed)).toBe(false);
});

test('another secret, a flipped bit or a cut seal does not open', () => {
  const sealed = seal.seal('sk-1', place);
  expect(() => new KeySeal('2'.repeat(64)).open(sealed, place)).toThrow(
    expect.objectContaining({ code: 'unavailable' }),
  );
  for (let at = 0; at < sealed.length; at++) {
    const flipped = Buffer.from(sealed);
    flipped[at]! ^= 1;
    expect(() => seal.open(flipped, place), `byte ${at}`).toThrow();
    expect(() => seal.open(sealed.subarray(0, at), place), `length ${at}`).toThrow();
  }
});
