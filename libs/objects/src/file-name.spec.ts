import { describe, expect, it } from 'vitest';
import { contentDisposition } from './content-disposition.ts';
import { acceptFileName } from './file-name.ts';

describe('file names', () => {
  it.each([
    'sales_data.csv',
    '07饺子 餃子.csv',
    '销售 数据（2026）—终稿.csv',
    'a..b.csv',
    '报表"最终";x=1%.csv',
    'emoji 😀❤️.csv',
    '葛\u{E0100}.csv',
    `${'中'.repeat(83)}.csv`,
  ])('are kept as given: %s', (name) => {
    expect(acceptFileName(name)).toBe(name);
  });

  it('are composed, as lookups expect (macOS sends them in pieces)', () => {
    expect(acceptFileName('e\u0301te\u0301.csv')).toBe('\u00e9t\u00e9.csv');
  });

  it.each([
    ['', 'empty'],
    ['.', 'dots'],
    ['..', 'dots'],
    ['../etc/passwd', 'separator'],
    ['a/b.csv', 'separator'],
    ['C:\\a.csv', 'separator'],
    ['a\0.csv', 'control'],
    ['a\n.csv', 'control'],
    ['a\u007f.csv', 'control'],
    ['a\u0085.csv', 'control'],
    ['\u202evsc.exe', 'invisible'],
    ['a\u200f.csv', 'invisible'],
    ['a\u2066b.csv', 'invisible'],
    ['a\u200b.csv', 'invisible'],
    ['\ufeffa.csv', 'invisible'],
    ['a\u00adb.csv', 'invisible'],
    ['a\u2028b.csv', 'invisible'],
    ['a\u3164.csv', 'invisible'],
    ['a\u{E0041}.csv', 'invisible'],
    [' a.csv', 'edges'],
    ['a.csv ', 'edges'],
    ['a.csv\u3000', 'edges'],
    ['.htaccess', 'edges'],
    ['a.', 'edges'],
    [`${'a'.repeat(296)}.csv`, 'too_long'],
    [`${'中'.repeat(84)}.csv`, 'too_long'],
    ['a\ud800.csv', 'malformed'],
  ])('are refused with a reason and never cleaned: %j', (name, reason) => {
    const refused = () => acceptFileName(name);
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid_name', fields: { reason } }));
    try {
      refused();
    } catch (error) {
      const { detail } = error as { detail: { zh: string; en: string } };
      // The message itself must be safe to show: nothing in it is a control or reordering character.
      expect(`${detail.zh}${detail.en}`).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(detail.zh).toMatch(/[\u4e00-\u9fff]/);
    }
  });
});

describe('content disposition', () => {
  it.each(['plain.csv', '销售 数据（2026）—终稿.csv', 'a"b\\c%d;e\'f(g)*.csv', '😀.png', 'é.csv'])(
    'is ASCII and gives back the name: %s',
    (name) => {
      const header = contentDisposition(name, 'attachment');
      expect(header).toMatch(/^[\x20-\x7e]+$/);
      expect(header).toMatch(/^attachment; filename="[^"\\%]*"; filename\*=UTF-8''[\w!#$&+.^`|~%-]+$/);
      expect(decodeURIComponent(header.split("UTF-8''")[1]!)).toBe(name);
    },
  );

  it('survives names that no header could carry', () => {
    expect(contentDisposition('a\r\nx: y\ud800', 'inline')).toBe(
      'inline; filename="a__x: y_"; filename*=UTF-8\'\'a%0D%0Ax%3A%20y%EF%BF%BD',
    );
  });
});
