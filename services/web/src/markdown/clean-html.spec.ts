// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { renderMarkdown } from './markdown.ts';

describe('renderMarkdown', () => {
  it('keeps what an answer needs through the cleaning', () => {
    const html = renderMarkdown(
      '| a |\n|--:|\n| 1 |\n\n[x](https://example.com) [f](sandbox:/mnt/data/f.csv)\n\n```py\nx\n```\n\n$a$',
    );
    expect(html).toContain('class="a-right"');
    expect(html).toContain('target="_blank"');
    expect(html).toContain('data-artifact="f.csv"');
    expect(html).toContain('data-lang="py"');
    expect(html).toContain('class="math"');
    expect(html).not.toContain('style=');
  });
});
