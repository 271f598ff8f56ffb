import { describe, expect, it } from 'vitest';
import { outputTail } from './run-output.ts';

describe('outputTail', () => {
  it('shows what a terminal would: the last writing of a line counts', () => {
    expect(outputTail('10%\r50%\r100%\ndone\r\n').text).toBe('100%\ndone');
    expect(outputTail('abcdef\rXY').text).toBe('XYcdef');
  });

  it('takes colour codes out', () => {
    expect(outputTail('\u001b[31mred\u001b[0m').text).toBe('red');
  });

  it('keeps the end of a very long output, from a whole line on', () => {
    const { text, cut } = outputTail('0123456789\n'.repeat(10_000));
    expect(cut).toBe(true);
    expect(text.length).toBeLessThanOrEqual(64_000);
    expect(text.startsWith('0123456789\n')).toBe(true);
  });
});
