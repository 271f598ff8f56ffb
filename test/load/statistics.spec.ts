import { describe, expect, it } from 'vitest';
import { digits, figuresOf, interleaved } from './statistics.ts';

describe('figures', () => {
  it('takes nearest ranks', () => {
    const hundred = Array.from({ length: 100 }, (_, at) => 100 - at);
    expect(figuresOf(hundred)).toEqual({ count: 100, min: 1, p50: 50, p95: 95, p99: 99, max: 100 });
    expect(figuresOf([7])).toEqual({ count: 1, min: 7, p50: 7, p95: 7, p99: 7, max: 7 });
    expect(() => figuresOf([])).toThrow();
  });

  it('takes turns', async () => {
    const order: string[] = [];
    const series = await interleaved(2, { a: async () => order.push('a'), b: async () => order.push('b') }, { a: 2 });
    expect(order.join('')).toBe('aabaab');
    expect(series.get('a')).toHaveLength(4);
  });

  it('prints three digits at least', () => {
    expect([digits(123.4), digits(12.34), digits(1.234)]).toEqual(['123', '12.3', '1.23']);
  });
});
