import { describe, expect, it } from 'vitest';
import { acceptedKinds, checkContent, checkUpload, countDragged, type UploadLimits } from './upload-check.ts';

const limits: UploadLimits = {
  maxBytes: 50 * 1024 * 1024,
  types: [
    { extension: '.csv', mimeTypes: ['text/csv'] },
    { extension: '.xlsx', mimeTypes: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'] },
    { extension: '.png', mimeTypes: ['image/png'] },
  ],
};

describe('checkUpload', () => {
  it.each(['sales_data.csv', '销售 数据（2026）—终稿.CSV', 'a.b.xlsx', "it's.csv"])('takes %s', (name) => {
    expect(checkUpload({ name, size: 10 }, limits)).toBeNull();
  });

  it('takes a file of exactly the limit and refuses one byte more', () => {
    expect(checkUpload({ name: 'a.csv', size: limits.maxBytes }, limits)).toBeNull();
    expect(checkUpload({ name: 'a.csv', size: limits.maxBytes + 1 }, limits)).toEqual({
      reason: 'size',
      bytes: limits.maxBytes + 1,
    });
  });

  it.each([
    ['setup.exe', '.exe'],
    ['archive.csv.zip', '.zip'],
    ['README', ''],
    ['.csv', ''],
  ])('refuses the type of %s', (name, extension) => {
    expect(checkUpload({ name, size: 10 }, limits)).toEqual({ reason: 'type', extension });
  });

  it.each([
    '../../etc/passwd.csv',
    'a/b.csv',
    'a\\b.csv',
    'a\u0000.csv',
    'a\n.csv',
    'invoice\u202Evsc.csv',
    '\u200Ff.csv',
    `${'长'.repeat(100)}.csv`,
    ' ',
  ])('refuses the name %j', (name) => {
    expect(checkUpload({ name, size: 10 }, limits)).toEqual({ reason: 'name' });
  });

  it('refuses an empty file', () => {
    expect(checkUpload({ name: 'a.csv', size: 0 }, limits)).toEqual({ reason: 'empty' });
  });
});

describe('checkContent', () => {
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]);
  it('finds a picture that is called a table', () => {
    expect(checkContent('a.csv', png)).toEqual({ reason: 'content', found: 'PNG' });
    expect(checkContent('a.png', png)).toBeNull();
    expect(checkContent('a.csv', new TextEncoder().encode('日期,金额'))).toBeNull();
  });
});

describe('countDragged', () => {
  it('counts what is known before the drop and promises nothing else', () => {
    expect(
      countDragged(['text/csv', 'text/csv', 'image/png', '', 'video/mp4', 'application/vnd.ms-excel'], limits),
    ).toEqual({
      kinds: [
        { name: 'CSV', count: 2 },
        { name: 'PNG', count: 1 },
      ],
      refused: 1,
      unknown: 2,
    });
  });
  it('lists the kinds once', () => {
    expect(acceptedKinds(limits, 'en', 'pictures')).toBe('CSV, XLSX, or pictures');
    expect(acceptedKinds(limits, 'zh', '图片')).toBe('CSV、XLSX或图片');
  });
});
