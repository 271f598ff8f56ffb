import { describe, expect, it } from 'vitest';
import { describeFile, type FileDescription } from './index.ts';
import { dateText, formatKind } from './number-format.ts';
import { makeWorkbook, makeZip, sheetData, type WorkbookSpec, workbookParts } from './testing/make-workbook.ts';

const open = (buffer: Buffer): Promise<FileDescription> => describeFile({ buffer }, { name: 'data.xlsx' });
const book = (spec: WorkbookSpec) => open(makeWorkbook(spec));
const codes = (found: FileDescription) => found.notes.map((note) => note.code);
const refused = { code: 'unreadable_file', status: 422 };

describe('workbooks', () => {
  it('give every sheet, with shared texts, and the table of the first that holds anything', async () => {
    const found = await book({
      sheets: {
        Empty: '<sheetData/>',
        One: '<sheetData><row r="1"><c r="A1" t="s"><v>1</v></c><c r="B1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2"><v>2.5</v></c></row></sheetData>',
        Two: sheetData([['x'], [1], [2]]),
      },
      shared: ['价格', '产品', '茶壶'],
      hidden: ['Two'],
    });
    expect(found.sheets).toEqual([
      { name: 'Empty', hidden: false, columns: [], rows: 0, headerRows: null },
      {
        name: 'One',
        hidden: false,
        columns: [
          { name: '产品', type: 'string' },
          { name: '价格', type: 'number' },
        ],
        rows: 1,
        headerRows: { first: 1, last: 1 },
      },
      {
        name: 'Two',
        hidden: true,
        columns: [{ name: 'x', type: 'integer' }],
        rows: 2,
        headerRows: { first: 1, last: 1 },
      },
    ]);
    expect(found.table).toEqual({ encoding: null, delimiter: null, columns: found.sheets![1]!.columns, rows: 1 });
    expect(found.preview).toEqual({ columns: ['产品', '价格'], rows: [['茶壶', '2.5']] });
    expect(codes(found)).toEqual(['empty_sheet', 'hidden_sheet']);
  });

  it('read formats, errors, booleans, blanks and prefixed XML', async () => {
    const row = (n: number) =>
      `<x:row r="${n}"><x:c r="A${n}" s="0"><x:v>46023</x:v></x:c><x:c r="B${n}" s="1"><x:v>46023.5</x:v></x:c><x:c r="C${n}" t="b"><x:v>1</x:v></x:c><x:c r="D${n}" t="e"><x:v>#DIV/0!</x:v></x:c><x:c r="E${n}" s="2"><x:v>0.5</x:v></x:c><x:c r="F${n}" s="2"/></x:row>`;
    const head = ['day', 'at', 'ok', 'err', 'clock', 'none']
      .map((name, n) => `<x:c r="${'ABCDEF'[n]}1" t="str"><x:v>${name}</x:v></x:c>`)
      .join('');
    const found = await book({
      sheets: { S: `<x:sheetData><x:row r="1">${head}</x:row>${row(2)}${row(3)}</x:sheetData>` },
      formats: ['yyyy"年"m"月"', 'yyyy-mm-dd hh:mm', 'h:mm AM/PM'],
    });
    expect(found.table!.columns.map((column) => column.type)).toEqual([
      'date',
      'datetime',
      'boolean',
      'string',
      'time',
      'empty',
    ]);
    expect(found.preview!.rows[0]).toEqual(['2026-01-01', '2026-01-01 12:00:00', 'TRUE', '#DIV/0!', '12:00:00', '']);
  });

  it('find titles, offsets, missing headers and rows without references', async () => {
    const titled = await book({
      sheets: { S: sheetData([['报表'], [], ['a', 'b', 'c'], [1, 2, 3], [4, 5, 6], [7, 8, 9]]) },
    });
    expect(titled.sheets![0]).toMatchObject({ rows: 3, headerRows: { first: 3, last: 3 } });
    expect(titled.notes[0]!.en).toContain('header=2');
    const offset = await book({
      sheets: {
        S: sheetData([
          [null, null, 'a', 'b'],
          [null, null, 1, 2],
        ]),
      },
    });
    expect(offset.table!.columns.map((column) => column.name)).toEqual(['a', 'b']);
    expect(codes(offset)).toContain('starts_at_column');
    const bare = await book({
      sheets: {
        S: sheetData([
          [1, 2],
          [3, 4],
        ]),
      },
    });
    expect(bare.table).toMatchObject({ rows: 2, columns: [{ name: 'column_1' }, { name: 'column_2' }] });
    expect(codes(bare)).toEqual(['no_header']);
  });

  it('count all rows and see late cells', async () => {
    const rows = Array.from({ length: 5000 }, (_, n) => [n, n === 4000 ? 1.5 : n, n === 4999 ? '约' : n]);
    const found = await book({ sheets: { S: sheetData([['a', 'b', 'c'], ...rows]) } });
    expect(found.table).toMatchObject({
      rows: 5000,
      columns: [{ type: 'integer' }, { type: 'number' }, { type: 'string' }],
    });
    expect(codes(found)).toEqual(['mixed_values']);
  });

  it('say where cells are text that looks like numbers or dates, and where digits are lost', async () => {
    const rows = [
      ['数量', '日', '编号', '名', '单号'],
      ['12', '2026年1月1日', '000123', 'x1', 2.0260101e17],
      ['1,500', '2026年1月2日', '000124', '7', 1],
    ];
    const found = await book({ sheets: { S: sheetData(rows) } });
    expect(found.table!.columns.map((column) => column.type)).toEqual([
      'string',
      'string',
      'string',
      'string',
      'integer',
    ]);
    expect(found.notes.map((note) => [note.code, note.zh.slice(0, 4)])).toEqual([
      ['rounded_numbers', '「单号」'],
      ['numbers_as_text', '「数量」'],
      ['dates_as_text', '「日」 '],
    ]);
  });

  it('do not take phonetic readings for text', async () => {
    const cell = '<c t="inlineStr"><is><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></is></c>';
    const found = await book({ sheets: { S: `<sheetData><row>${cell}</row><row><c><v>1</v></c></row></sheetData>` } });
    expect(found.table!.columns[0]!.name).toBe('東京');
  });
});

describe('workbooks made to harm', () => {
  const parts = (extra: Record<string, string | Buffer>) => ({
    ...workbookParts({ sheets: { S: sheetData([['a'], [1]]) } }),
    ...extra,
  });

  it.each([
    ['not a whole zip', () => makeWorkbook({ sheets: { S: sheetData([['a'], [1]]) } }).subarray(0, 900)],
    ['broken XML', () => makeZip(parts({ 'xl/worksheets/sheet1.xml': '<worksheet><sheetData><row><c>' }))],
    ['a DOCTYPE', () => makeZip(parts({ 'xl/workbook.xml': '<!DOCTYPE x [<!ENTITY a "b">]><workbook/>' }))],
    ['no sheets', () => makeZip(parts({ 'xl/workbook.xml': '<workbook/>' }))],
    [
      'thousands of parts',
      () => makeZip(parts(Object.fromEntries(Array.from({ length: 2500 }, (_, n) => [`xl/p${n}.xml`, ''])))),
    ],
    ['a claim of 2 GiB', () => makeZip(parts({}), { 'xl/worksheets/sheet1.xml': 2 ** 31 })],
    ['a size that is a lie', () => makeZip(parts({}), { 'xl/worksheets/sheet1.xml': 10 })],
    [
      'one endless cell',
      () =>
        makeZip(
          parts({
            'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row><c t="str"><v>${'A'.repeat(6_000_000)}</v></c></row></sheetData></worksheet>`,
          }),
        ),
    ],
  ])('are refused: %s', async (_what, make) => {
    await expect(open(make())).rejects.toMatchObject(refused);
  });

  it('with hundreds of megabytes of shared texts are read up to what is needed', async () => {
    const shared = `<sst><si><t>name</t></si>${`<si><t>${'A'.repeat(1_000_000)}</t></si>`.repeat(80)}</sst>`;
    const sheet =
      '<worksheet><sheetData><row><c t="s"><v>0</v></c></row><row><c><v>1</v></c></row></sheetData></worksheet>';
    const found = await open(makeZip(parts({ 'xl/sharedStrings.xml': shared, 'xl/worksheets/sheet1.xml': sheet })));
    expect(found.table).toMatchObject({ rows: 1, columns: [{ name: 'name' }] });
  });

  it('with a sheet beyond the budget are described by what the file says of itself', async () => {
    const row = `<row><c><v>1</v></c><c><v>2</v></c><!--${' '.repeat(2000)}--></row>`;
    const sheet = `<worksheet><dimension ref="A1:B2000001"/><sheetData><row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>${row.repeat(40_000)}</sheetData></worksheet>`;
    const found = await open(makeZip(parts({ 'xl/worksheets/sheet1.xml': sheet })));
    expect(found.table).toMatchObject({ rows: 2_000_000, columns: [{ name: 'a', type: 'integer' }, { name: 'b' }] });
    expect(codes(found)).toEqual(['sheet_partly_read']);
  }, 30_000);

  it('with links outside or upwards read nothing but their own parts', async () => {
    const rels =
      '<Relationships><Relationship Id="rId1" Type="t/worksheet" Target="../../../../etc/passwd"/></Relationships>';
    const found = await open(makeZip(parts({ 'xl/_rels/workbook.xml.rels': rels })));
    expect(found.sheets).toMatchObject([{ name: 'S', rows: 0 }]);
  });

  it('that are documents of another kind are named', async () => {
    const word = makeZip({ '[Content_Types].xml': '<Types/>', 'word/document.xml': '<x/>' });
    await expect(open(word)).rejects.toMatchObject({
      code: 'unsupported_type',
      detail: { en: expect.stringContaining('Word') },
    });
  });
});

describe('number formats', () => {
  it.each([
    [0, undefined, 'general'],
    [9, undefined, 'percent'],
    [14, undefined, 'date'],
    [22, undefined, 'datetime'],
    [46, undefined, 'time'],
    [57, undefined, 'date'],
    [164, '#,##0.00', 'general'],
    [164, '0.0%', 'percent'],
    [164, '@', 'text'],
    [164, 'General', 'general'],
    [164, '"day" 0', 'general'],
    [164, '[Red]0.0', 'general'],
    [164, 'yyyy\\-mm\\-dd', 'date'],
    [164, 'mmm', 'date'],
    [164, 'mm:ss', 'time'],
    [164, '[h]:mm', 'time'],
    [164, 'm/d/yy h:mm', 'datetime'],
    [164, '[$-804]yyyy"年"m"月";@', 'date'],
    [164, '_ "¥"* #,##0.00_ ', 'general'],
    [164, '0.00E+00', 'general'],
  ] as const)('%i %s is %s', (id, code, kind) => {
    expect(formatKind(id, code)).toBe(kind);
  });

  it.each([
    ['1', 'date', false, '1900-01-01'],
    ['59', 'date', false, '1900-02-28'],
    ['61', 'date', false, '1900-03-01'],
    ['46023', 'date', false, '2026-01-01'],
    ['44561', 'date', true, '2026-01-01'],
    ['46023.999988', 'datetime', false, '2026-01-01 23:59:59'],
    ['0.75', 'time', false, '18:00:00'],
    ['x', 'date', false, 'x'],
    ['1e300', 'date', false, '1e300'],
  ] as const)('%s as %s (1904: %s) is %s', (value, kind, date1904, text) => {
    expect(dateText(value, kind, date1904)).toBe(text);
  });
});
