import { describe, expect, it } from 'vitest';
import { KeptOutput } from './kept-output.ts';

function kept(limit: number, content: string, size: number): KeptOutput {
  const output = new KeptOutput(limit);
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += size) output.push(bytes.subarray(at, at + size));
  return output;
}

describe('kept output', () => {
  it.each([1, 3, 10, 100])('is all of it up to the limit (pieces of %i)', (size) => {
    const output = kept(10, '0123456789', size);
    expect(output.text()).toBe('0123456789');
    expect(output.cut).toBe(false);
  });

  it.each([1, 3, 7, 11, 100])('is the beginning and the end beyond it (pieces of %i)', (size) => {
    const output = kept(10, 'abcdefghijklmnopqrstuvwxyz', size);
    expect(output.text()).toBe('abcde\n… 16 bytes …\nvwxyz');
    expect(output.bytes().toString()).toBe('abcdevwxyz');
    expect(output.total).toBe(26);
    expect(output.cut).toBe(true);
  });

  it('does not grow beyond its limit', () => {
    const output = new KeptOutput(1_000);
    const piece = Buffer.alloc(64_000, 'x');
    for (let i = 0; i < 100; i++) output.push(piece);
    expect(output.bytes().byteLength).toBe(1_000);
    expect(output.total).toBe(6_400_000);
  });
});
