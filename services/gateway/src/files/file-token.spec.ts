import { describe, expect, it } from 'vitest';
import { newId } from '../ids.ts';
import { FileTokens } from './file-token.ts';

const tokens = new FileTokens('ab'.repeat(32));
const tenantId = newId('ten');
const fileId = newId('file');
const claim = { tenantId, fileId, expires: 2_000_000_000 };
const before = 1_999_999_999_000;
const refusal = expect.objectContaining({ code: 'link_invalid' });

describe('file tokens', () => {
  it('opens its own token until it expires', () => {
    const token = tokens.sign(claim);
    expect(tokens.open(token, tenantId, before)).toBe(fileId);
    expect(() => tokens.open(token, tenantId, 2_000_000_000_000)).toThrow(refusal);
  });

  it('refuses the token of another tenant', () => {
    expect(() => tokens.open(tokens.sign(claim), newId('ten'), before)).toThrow(refusal);
  });

  it('refuses a token that was changed in any place', () => {
    const token = tokens.sign(claim);
    for (let at = 0; at < token.length; at += 1) {
      const changed = token.slice(0, at) + (token[at] === '0' ? '1' : '0') + token.slice(at + 1);
      expect(() => tokens.open(changed, tenantId, before)).toThrow(refusal);
    }
  });

  it('refuses what is no token', () => {
    for (const text of ['', '.', 'a.b.c', `${fileId}..x`, `${fileId}.1e3.x`, `${tokens.sign(claim)}.x`]) {
      expect(() => tokens.open(text, tenantId, before)).toThrow(refusal);
    }
  });

  it('refuses a token of another installation', () => {
    expect(() => new FileTokens('cd'.repeat(32)).open(tokens.sign(claim), tenantId, before)).toThrow(refusal);
  });
});
