import { describe, expect, it } from 'vitest';
import { artifactName, createMarkdown, withLf } from './markdown.ts';
import { matchInline } from './math.ts';

const md = createMarkdown();

describe('createMarkdown', () => {
  it('writes no style attribute, which the content policy would refuse', () => {
    const html = md.render('| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |');
    expect(html).not.toContain('style=');
    expect(html).toContain('class="a-right"');
  });

  it('turns sandbox paths into links to artifacts', () => {
    const html = md.render('[图](sandbox:/mnt/data/trend.png) ![t](sandbox:/mnt/data/%E8%B6%8B%E5%8A%BF.png)');
    expect(html).toContain('<a href="#" data-artifact="trend.png">图</a>');
    expect(html).toContain('data-artifact="趋势.png"');
    expect(html).not.toContain('<img');
  });

  it('draws data pictures, and shows no base64 as text', () => {
    const data = `data:image/png;base64,${'iVBORw0KGgo'.repeat(30)}`;
    expect(md.render(`![chart](${data})`)).toContain(`<img src="${data}"`);
    expect(md.render(`see ${data} there`)).toBe('<p>see data:image… there</p>\n');
  });

  it('fetches no pictures of other servers', () => {
    expect(md.render('![x](https://example.com/x.png)')).not.toContain('<img');
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd'])(
    'refuses the link %s',
    (url) => {
      expect(md.render(`[x](${url})`)).not.toContain('href');
    },
  );

  it('keeps raw HTML as text', () => {
    expect(md.render('<img src=x onerror=alert(1)>')).toContain('&lt;img');
  });
});

describe('artifactName', () => {
  it.each([
    ['sandbox:/mnt/data/trend.png', 'trend.png'],
    ['sandbox:/mnt/data/out/a%20b.csv', 'a b.csv'],
    ['/mnt/data/x.xlsx', 'x.xlsx'],
    ['https://example.com/mnt/data/x', null],
    ['#note', null],
  ])('%s → %s', (href, name) => {
    expect(artifactName(href)).toBe(name);
  });
});

describe('matchInline', () => {
  it.each([
    ['$a_1^2$', 'a_1^2'],
    ['$$x$$', 'x'],
    ['\\(y\\)', 'y'],
    ['\\[z\\]', 'z'],
  ])('%s is a formula', (text, tex) => {
    expect(matchInline(text, 0, text.length)?.tex).toBe(tex);
  });

  it.each(['$5 and $6', '$ a$', '$a $', '$$', '$a', '$5到$10', '\\(open'])('%s is not', (text) => {
    expect(matchInline(text, 0, text.length)).toBeNull();
  });
});

describe('withLf', () => {
  it('is stable while a CRLF arrives in two pieces', () => {
    expect(withLf('a\r')).toBe('a\n');
    expect(withLf('a\r\nb')).toBe('a\nb');
  });
});
