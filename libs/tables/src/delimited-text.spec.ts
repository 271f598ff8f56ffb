import { describe, expect, it } from 'vitest';
import { describeFile, type FileDescription } from './index.ts';

const csv = (text: string, name = 'data.csv'): Promise<FileDescription> =>
  describeFile({ buffer: Buffer.from(text) }, { name });
const names = (found: FileDescription) => found.table!.columns.map((column) => column.name);
const types = (found: FileDescription) => found.table!.columns.map((column) => column.type);
const codes = (found: FileDescription) => found.notes.map((note) => note.code);

describe('delimiter', () => {
  it.each([
    ['\t', 'a\tb\n1\t2\n'],
    ['|', 'a|b\n1|2\n'],
    [';', 'a;b\n1,5;2,5\n3,5;4,5\n'],
    [',', 'a,b\n"x;y;z",2\n"p;q;r",4\n'],
    [',', 'a,b\n"1\n2;3\n4",2\n'],
    ['\t', '名称\t金额\n甲\t1,234\n乙\t5,678\n'],
    ['，', '名称，金额\n甲，1\n乙，2\n'],
    [',', '标题,内容\n甲,"你好，世界"\n乙,"再见，朋友"\n'],
    [null, 'name\nann\nbob\n'],
    [null, '内容\n今天天气很好，我们去公园。\n昨天下雨。\n'],
  ])('is %j', async (delimiter, text) => {
    expect((await csv(text)).table!.delimiter).toBe(delimiter);
  });

  it('is a tab where the name says so and the text allows it', async () => {
    expect((await csv('a,b\tc\n1,2\t3\n', 'x.tsv')).table!.delimiter).toBe('\t');
  });

  it('keeps the whole text of a single column', async () => {
    const found = await csv('留言\n"很好, 谢谢"\n一般, 再说\n');
    expect(found.table).toMatchObject({ delimiter: null, rows: 2 });
    expect(found.preview!.rows).toEqual([['很好, 谢谢'], ['一般, 再说']]);
  });
});

describe('header', () => {
  it.each([
    ['names above numbers', 'a,b\n1,2\n', true, false],
    ['numbers alone', '1,2\n3,4\n5,6\n', false, false],
    ['names above text, with words that headers use', '姓名,城市\n张三,北京\n', true, false],
    ['text that could be either', 'foo,bar\nbaz,qux\n', true, true],
    ['values that come again below', '张三,北京\n李四,上海\n王五,北京\n', false, true],
    ['a mixed row like all others', '张三,1\n李四,2\n王五,3\n', false, false],
    ['years that name columns', '地区,2024,2025,2026\n华东,1,2,3\n华南,4,5,6\n', true, true],
    ['months that name columns', '地区,2026-01,2026-02\n华东,1.5,2\n', true, false],
    ['dates in the first row', '2026-01-01,5\n2026-01-02,6\n', false, false],
    ['a single row of numbers', '1,2,3\n', false, false],
    ['a single row of names', 'x,y\n', true, false],
  ])('%s', async (_what, text, header, doubtful) => {
    const found = await csv(text);
    expect([names(found)[0] !== 'column_1', codes(found).includes('header_doubt')]).toEqual([header, doubtful]);
    const lines = text.trim().split('\n').length;
    expect(found.table!.rows).toBe(header ? lines - 1 : lines);
  });

  it('is found below titles and remarks', async () => {
    const found = await csv(
      '2026年销售报表\n导出时间:,2026-04-01\n\n日期,区域,产品,数量,金额\n2026-01-01,华东,茶壶,1,10\n2026-01-02,华南,茶杯,2,20\n2026-01-03,华北,茶叶,3,30\n',
    );
    expect(names(found)).toEqual(['日期', '区域', '产品', '数量', '金额']);
    expect(found.table!.rows).toBe(3);
    expect(found.notes.find((note) => note.code === 'title_above')!.en).toContain('header=2');
  });

  it('gives names that differ even where the made-up one is taken', async () => {
    const found = await csv('x,x.1,x,x\n1,2,3,4\n');
    expect(names(found)).toEqual(['x', 'x.1', 'x.2', 'x.3']);
    expect(names(await csv('x,x,x.1\n1,2,3\n'))).toEqual(['x', 'x.2', 'x.1']);
  });
});

describe('rows', () => {
  it('end in a delimiter that the header has too', async () => {
    const found = await csv('x,y,\n1,2,\n3,4,\n');
    expect(names(found)).toEqual(['x', 'y']);
    expect(codes(found)).toContain('trailing_delimiter');
  });

  it('have a field more than there are names', async () => {
    const found = await csv('x,y\na,1,2\nb,3,4\nc,5,6\n');
    expect(names(found)).toEqual(['x', 'y', 'Unnamed: 2']);
    expect(codes(found)).toContain('extra_fields');
  });

  it('are counted with line ends inside of quotes', async () => {
    const found = await csv(`id,name\n${'"1\n2","x ""y"""\r\n'.repeat(5000)}`);
    expect(found.table!.rows).toBe(5000);
    expect(codes(found)).toEqual([]);
  });

  it('are counted as lines where a quote is never closed', async () => {
    const found = await csv(`a,b\n1,"2\n${'3,4\n'.repeat(100)}`);
    expect(found.table!.rows).toBe(101);
    expect(found.notes.find((note) => note.code === 'unclosed_quote')!.zh).toContain('第 2 条');
  });

  it('that are empty are said', async () => {
    const found = await csv('a,b\n1,2\n,\n,\n');
    expect(found.table!.rows).toBe(3);
    expect(codes(found)).toContain('empty_rows');
  });

  it('that come late still count for types and notes', async () => {
    const found = await csv(`a,b,c\n${'1,2026-01-01,x\n'.repeat(3000)}1.5,待定,000\n1,2026-01-02,x,4\n`);
    expect(types(found)).toEqual(['number', 'string', 'string']);
    expect(found.table!.rows).toBe(3002);
    expect(codes(found)).toEqual(expect.arrayContaining(['irregular_rows', 'mixed_values']));
  });

  it('say how numbers and dates are written', async () => {
    const found = await csv(
      '月份,金额,占比,单价,日\n2026年1月,"1,234",12.5%,¥5.00,1/2/2026\n2026年2月,"5,678",10%,¥6.50,3/4/2026\n',
    );
    expect(types(found)).toEqual(['date', 'number', 'number', 'number', 'date']);
    expect(codes(found)).toEqual(['thousands', 'percent', 'currency', 'date_format', 'date_order_unclear']);
    expect(found.notes.find((note) => note.code === 'date_format')!.zh).toContain('YYYY年M月');
  });
});

describe('hostile and odd text', () => {
  it('of one endless line is described without a table of garbage', async () => {
    const found = await csv('x,'.repeat(4_000_000));
    expect(found.table).toMatchObject({ columns: [], rows: 0 });
    expect(codes(found)).toContain('line_too_long');
  });

  it('with a very wide row lists a bounded number of columns', async () => {
    const found = await csv(`${'1,'.repeat(500_000)}1\n`);
    expect(found.table!.columns).toHaveLength(20_000);
    expect(codes(found)).toContain('more_columns');
  });

  it('of blanks alone is empty', async () => {
    await expect(csv(' \n\r\n\t')).rejects.toMatchObject({ code: 'empty_file' });
    await expect(csv('')).rejects.toMatchObject({ code: 'empty_file' });
  });
});

describe('content against the name', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de', 'hex');
  it.each([
    ['data.csv', png, 'a PNG image'],
    ['data.csv', Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200)]), 'a Windows program'],
    ['data.csv', Buffer.from('7f454c4602010100000000000000000002003e0001000000', 'hex'), 'a Linux program'],
    ['data.csv', Buffer.from('<!DOCTYPE html><html><body>Sign in</body></html>'), 'a web page'],
    ['data.csv', Buffer.from('\x00\x01\x02\x03'.repeat(100)), 'binary data'],
    ['data.xlsx', Buffer.from('a,b\n1,2\n3,4\n'), 'delimited text'],
    ['data.png', Buffer.from('hello'), 'plain text'],
    ['data.json', png, 'a PNG image'],
    ['data.txt', Buffer.from('<?xml version="1.0"?><svg onload="x"/>'), 'XML'],
  ])('%s is refused when it is something else (%#)', async (name, buffer, what) => {
    const refused = describeFile({ buffer }, { name });
    await expect(refused).rejects.toMatchObject({
      code: 'unsupported_type',
      status: 415,
      detail: { en: expect.stringContaining(what), zh: expect.stringMatching(/可以上传：.*\.csv/) },
    });
  });

  it.each([['MZ,intensity\n100.5,3\n'], ['BMI,age\n22.5,30\n'], ['CWS,x\n1,2\n'], ['ID3,BZh\n1,2\n']])(
    'a table is no program or picture for its first letters: %j',
    async (text) => {
      expect((await csv(text)).table!.rows).toBe(1);
    },
  );

  it('a .txt is a table only where every line agrees', async () => {
    expect(await csv('a\tb\n1\t2\n3\t4\n', 'x.txt')).toMatchObject({ kind: 'tsv', table: { rows: 2 } });
    const prose = await csv('Dear all,\nplease find the report, thanks.\nBye\n', 'x.txt');
    expect(prose).toMatchObject({ kind: 'text', mimeType: 'text/plain', encoding: 'utf-8' });
    expect(prose.table).toBeUndefined();
  });

  it('PNG, PDF and Parquet are accepted under their names', async () => {
    expect(await describeFile({ buffer: png }, { name: 'x.png' })).toMatchObject({
      kind: 'image',
      mimeType: 'image/png',
    });
    expect(await describeFile({ buffer: Buffer.from('%PDF-1.7\n') }, { name: 'x.pdf' })).toMatchObject({ kind: 'pdf' });
    const parquet = Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(40), Buffer.from('PAR1')]);
    expect(await describeFile({ buffer: parquet }, { name: 'x.parquet' })).toMatchObject({ kind: 'parquet' });
    const cut = describeFile({ buffer: parquet.subarray(0, 40) }, { name: 'x.parquet' });
    await expect(cut).rejects.toMatchObject({ code: 'unreadable_file' });
  });
});
