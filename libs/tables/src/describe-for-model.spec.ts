import { describe, expect, it } from 'vitest';
import { DESCRIPTION_BYTES, describeForModel } from './describe-for-model.ts';
import type { Column, FileDescription, Note } from './description.ts';

const LOCALES = ['zh', 'en'] as const;
const column = (name: string): Column => ({ name, type: 'integer' });
const note = (code: string, size: number): Note => ({ code, zh: '注'.repeat(size), en: 'n'.repeat(size) });

describe('description for a model', () => {
  const description: FileDescription = {
    mimeType: 'text/csv',
    kind: 'csv',
    encoding: 'gb18030',
    table: { encoding: 'gb18030', delimiter: ';', columns: [{ name: '日期', type: 'date' }, column('金额')], rows: 12 },
    notes: [{ code: 'x', zh: '注意', en: 'mind this' }],
    preview: { columns: ['日期', '金额'], rows: [['2026-01-01', '5']] },
  };

  it('says all that is known, in both languages, and no value', () => {
    expect(describeForModel({ name: '销售 "1".csv', bytes: 2048, description }, 'zh')).toBe(
      '文件 "销售 \\"1\\".csv", csv, 2 KiB, 编码 gb18030, 分隔符 ";"\n12 行 × 2 列："日期" 日期, "金额" 整数\n- 注意',
    );
    expect(describeForModel({ name: 'a.csv', bytes: 100, description }, 'en')).toBe(
      'file "a.csv", csv, 100 B, encoding gb18030, delimiter ";"\n12 rows × 2 columns: "日期" date, "金额" integer\n- mind this',
    );
  });

  it.each([
    ['shift_jis', [], 'cp932'],
    ['big5', [], 'big5hkscs'],
    ['utf-16le', [], 'utf-16'],
    ['utf-16le', [{ code: 'encoding_no_bom', zh: '', en: '' }], 'utf-16-le'],
  ])('names the encoding as Python needs it: %s', (encoding, notes, python) => {
    const text = describeForModel({ name: 'a.csv', bytes: 1, description: { ...description, encoding, notes } }, 'en');
    expect(text).toContain(`encoding ${encoding} (Python: ${python})`);
  });

  it.each<[string, Partial<FileDescription>]>([
    [
      '5,000 columns',
      { table: { ...description.table!, columns: Array.from({ length: 5000 }, (_, n) => column(`列${n}`)) } },
    ],
    [
      'endless names',
      { table: { ...description.table!, columns: Array.from({ length: 50 }, () => column('😀'.repeat(200))) } },
    ],
    [
      'many sheets',
      {
        sheets: Array.from({ length: 50 }, (_, n) => ({
          name: `工作表${n}`.repeat(9),
          hidden: false,
          columns: Array.from({ length: 20 }, (_, c) => column(`列名${c}`)),
          rows: 5,
          headerRows: null,
        })),
      },
    ],
    ['many notes', { notes: Array.from({ length: 100 }, (_, n) => note(`code${n % 7}`, 120)) }],
    ['a long shape', { shape: { records: 5, text: '形'.repeat(2000) } }],
    ['one huge note', { notes: [note('x', 9000)] }],
  ])('stays within its bytes with %s', (_what, more) => {
    for (const locale of LOCALES) {
      const text = describeForModel(
        { name: '名'.repeat(85), bytes: 52_428_801, description: { ...description, ...more } },
        locale,
      );
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(DESCRIPTION_BYTES);
      expect(text.isWellFormed()).toBe(true);
      expect(text.split('\n').length).toBeGreaterThan(1);
    }
  });

  it('drops repeated notes before new ones', () => {
    const notes = [
      ...Array.from({ length: 50 }, () => note('same', 100)),
      { code: 'other', zh: '重要', en: 'important' },
    ];
    expect(describeForModel({ name: 'a', bytes: 1, description: { ...description, notes } }, 'zh')).toContain('重要');
  });
});
