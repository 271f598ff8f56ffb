import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeFile, describeForModel, type FileDescription } from './index.ts';

const FOLDER = join(import.meta.dirname, '../../../test/cases/files');
const describeCase = (name: string): Promise<FileDescription> => describeFile({ path: join(FOLDER, name) }, { name });
const names = (description: FileDescription) => description.table!.columns.map((column) => column.name);
const types = (description: FileDescription) =>
  Object.fromEntries(description.table!.columns.map((column) => [column.name, column.type]));
const codes = (description: FileDescription) => description.notes.map((note) => note.code);

describe('files from the field', () => {
  it('GB18030 with rare characters keeps them (SNF-02)', async () => {
    const found = await describeCase('gb18030-rare.csv');
    expect(found.table).toMatchObject({ encoding: 'gb18030', delimiter: ',', rows: 2 });
    expect(found.preview!.rows.flat()).toEqual(expect.arrayContaining(['王㛃', '𠮷野']));
  });

  it('GBK with two Chinese characters is not taken for another script (SNF-04)', async () => {
    const found = await describeCase('gbk-two-chars.csv');
    expect(found.table!.encoding).toBe('gb18030');
    expect(found.preview!.rows[0]).toContain('D:/图纸-1.dwg');
    expect(codes(found)).toContain('encoding_doubt');
  });

  it('UTF-16 with tabs under a .csv name (SNF-06)', async () => {
    const found = await describeCase('utf16-tab.csv');
    expect(found.table).toMatchObject({ encoding: 'utf-16le', delimiter: '\t', rows: 2 });
    expect(names(found)).toEqual(['部门', '预算', '占比']);
  });

  it('Big5 is not read as plausible nonsense in GB18030 (SNF-08)', async () => {
    const found = await describeCase('big5.csv');
    expect(found.table).toMatchObject({ encoding: 'big5', rows: 3 });
    expect(names(found)).toEqual(['日期', '門市', '銷售額']);
  });

  it('the sep= line of Excel is no header (SNF-10)', async () => {
    const found = await describeCase('sep-line.csv');
    expect(found.table).toMatchObject({ delimiter: ';', rows: 2 });
    expect(names(found)).toEqual(['名称', '数值']);
    expect(codes(found)).toContain('sep_line');
  });

  it('a delimiter at the end of each row is told, not taken for a column (SNF-12)', async () => {
    const found = await describeCase('trailing-delim.csv');
    expect(found.table!.rows).toBe(3);
    expect(names(found)).toEqual(['x', 'y', 'z']);
    const told = { name: 'trailing-delim.csv', bytes: 36, description: found };
    expect(describeForModel(told, 'zh')).toMatch(/多余分隔符.*index_col/);
    expect(describeForModel(told, 'en')).toMatch(/extra delimiter.*index_col/);
  });

  it('double and empty names are told apart, as pandas does (SNF-14)', async () => {
    const found = await describeCase('dup-columns.csv');
    expect(names(found)).toEqual(['日期', '金额', '金额.1', 'Unnamed: 3', '备注', '备注 ']);
    expect(found.table!.rows).toBe(2);
    expect(codes(found)).toEqual(expect.arrayContaining(['duplicate_names', 'unnamed_columns', 'padded_names']));
  });

  it('ids stay text with all digits and zeros (SNF-16)', async () => {
    const found = await describeCase('ids.csv');
    expect(types(found)).toEqual({
      订单号: 'string',
      股票代码: 'string',
      商品编码: 'string',
      邮编: 'string',
      手机: 'integer',
    });
    expect(found.preview!.rows[0]).toEqual(['202601010000000123', '000001', '1E10', '010000', '13000000000']);
    expect(codes(found)).toContain('ids_as_text');
  });

  it('ragged rows and stray quotes are counted and said (SNF-18)', async () => {
    const found = await describeCase('ragged.csv');
    expect(found.table!.rows).toBe(4);
    expect(names(found)).toEqual(['name', 'size', 'note']);
    expect(found.preview!.rows).toEqual([
      ['screen', '5" wide', 'ok'],
      ['box', '3'],
      ['bag', '1', 'a'],
      ['multi\nline', '2', 'say "hi"'],
    ]);
    expect(found.notes.find((note) => note.code === 'irregular_rows')!.zh).toMatch(/不规则：有 2 行/);
  });

  it('5,000 columns are listed whole here and in 4 KiB for a model (SNF-20)', async () => {
    const found = await describeCase('wide.csv');
    expect(found.table!.columns).toHaveLength(5000);
    for (const locale of ['zh', 'en'] as const) {
      const text = describeForModel({ name: 'wide.csv', bytes: 58_890, description: found }, locale);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      expect(text).toMatch(/5000/);
    }
  });

  it('a header alone has no rows (SNF-22)', async () => {
    const found = await describeCase('header-only.csv');
    expect(found.table).toMatchObject({ rows: 0 });
    expect(names(found)).toEqual(['日期', '区域', '金额']);
  });

  it('the 1904 date system gives the right days (SNF-24)', async () => {
    const found = await describeCase('dates-1904.xlsx');
    expect(types(found).日期).toBe('date');
    expect(found.preview!.rows[0]![0]).toBe('2026-01-01');
  });

  it('a merged two-line header is joined (SNF-26)', async () => {
    const found = await describeCase('merged-header.xlsx');
    expect(names(found)).toEqual(['区域', '一月/数量', '一月/金额', '二月/数量', '二月/金额']);
    expect(found.sheets![0]).toMatchObject({ rows: 3, headerRows: { first: 2, last: 3 } });
    expect(found.notes.find((note) => note.code === 'header_lines')!.en).toContain('header=[1, 2]');
  });

  it('formatting down to the last row is not data (SNF-28)', async () => {
    const found = await describeCase('ghost-range.xlsx');
    expect(found.table).toEqual({
      encoding: null,
      delimiter: null,
      rows: 2,
      columns: [
        { name: 'x', type: 'integer' },
        { name: 'y', type: 'integer' },
      ],
    });
  });

  it('formulas without results are told (SNF-30)', async () => {
    const found = await describeCase('formulas-no-cache.xlsx');
    expect(found.table!.rows).toBe(3);
    expect(found.notes.find((note) => note.code === 'formulas_without_values')!.zh).toContain('「金额」');
  });

  it('an old workbook is accepted with advice (SNF-32)', async () => {
    const found = await describeCase('real.xls');
    expect(found).toMatchObject({ kind: 'xls', mimeType: 'application/vnd.ms-excel' });
    expect(found.table).toBeUndefined();
    expect(found.notes[0]!.en).toContain('.xlsx');
  });

  it('a zip is refused by its type (SNF-34)', async () => {
    const refusal = { code: 'unsupported_type', fields: { accepted: expect.arrayContaining(['csv', 'xlsx']) } };
    await expect(describeCase('gbk-names.zip')).rejects.toMatchObject(refusal);
    const renamed = describeFile({ buffer: readFileSync(join(FOLDER, 'gbk-names.zip')) }, { name: 'data.xlsx' });
    await expect(renamed).rejects.toMatchObject({
      code: 'unsupported_type',
      detail: { en: expect.stringContaining('a ZIP archive') },
    });
  });

  it('JSON lines with a cut last line give the whole records (SNF-36)', async () => {
    const found = await describeCase('events.jsonl');
    expect(found.kind).toBe('jsonl');
    expect(found.shape).toEqual({
      records: 5,
      text: '{ t: string, user: string, props: { 金额: integer, tags: [0–2 × string] } }',
    });
    expect(codes(found)).toContain('last_line_cut');
  });

  it('integers beyond 2^53 are told and never rounded (SNF-38)', async () => {
    const found = await describeCase('nested.json');
    expect(found.shape!.text).toContain('list: [2 × { id: integer, name: string');
    expect(found.notes.find((note) => note.code === 'big_integers')!.en).toContain('data.list[].id');
    expect(JSON.stringify(found)).not.toContain('9007199254740992');
  });

  it('two tables side by side are seen, and the empty sheet is said (SNF-40)', async () => {
    const found = await describeCase('two-tables.xlsx');
    expect(names(found)).toEqual(['区域', '金额', 'Unnamed: 2', '产品', '库存']);
    expect(found.notes.find((note) => note.code === 'blocks_side_by_side')!.en).toContain('A:B, D:E');
    expect(found.sheets!.map((sheet) => [sheet.name, sheet.rows])).toEqual([
      ['Sheet1', 2],
      ['Sheet2', 0],
    ]);
    expect(found.notes.find((note) => note.code === 'empty_sheet')!.zh).toContain('Sheet2');
  });

  it('cell formats decide the types (SNF-42)', async () => {
    const found = await describeCase('formats.xlsx');
    expect(types(found)).toEqual({
      日期: 'date',
      占比: 'number',
      金额: 'number',
      编号: 'string',
      时间: 'datetime',
      数量: 'integer',
      中文日期: 'date',
    });
    expect(found.preview!.rows[0]).toEqual([
      '2026-01-01',
      '0.125',
      '1234.5',
      '000123',
      '2026-01-01 18:00:00',
      '1234567',
      '2026-01-01',
    ]);
  });

  it('HTML and tab-separated text under an .xls name are read as what they are (UPL-11)', async () => {
    const page = await describeCase('html-named.xls');
    expect(page).toMatchObject({ mimeType: 'text/html', table: { encoding: 'gb18030', rows: 2 } });
    expect(names(page)).toEqual(['部门', '金额']);
    const tabs = await describeCase('tsv-named.xls');
    expect(tabs).toMatchObject({ mimeType: 'text/tab-separated-values', table: { delimiter: '\t', rows: 2 } });
    expect(types(tabs)).toEqual({ 时刻: 'time', 价格: 'number', 数量: 'integer', 方向: 'string' });
    for (const found of [page, tabs]) expect(codes(found)[0]).toBe('other_content');
  });

  it('a password-protected workbook is refused with that reason (UPL-13)', async () => {
    const refusal = {
      code: 'unreadable_file',
      status: 422,
      detail: { zh: expect.stringContaining('密码'), en: expect.stringContaining('password-protected') },
    };
    await expect(describeCase('password.xlsx')).rejects.toMatchObject(refusal);
  });

  it('no description for a model is over 4 KiB or shows a value of the file', async () => {
    for (const name of readdirSync(FOLDER)) {
      const found = await describeCase(name).catch(() => null);
      if (!found) continue;
      for (const locale of ['zh', 'en'] as const) {
        const text = describeForModel({ name, bytes: 1000, description: found }, locale);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
        const values = (found.preview?.rows ?? []).flat().filter((cell) => cell.length > 5);
        for (const value of values) expect(text).not.toContain(value);
      }
    }
  });
});
