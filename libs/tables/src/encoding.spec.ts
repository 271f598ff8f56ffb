import { describe, expect, it } from 'vitest';
import { ByteSource } from './byte-source.ts';
import { detectEncoding } from './encoding.ts';
import { encode } from './testing/encode.ts';
import { decodedPieces } from './text-pieces.ts';

async function read(buffer: Buffer): Promise<{ name: string | undefined; text: string; notes: string[] }> {
  const source = await ByteSource.open({ buffer });
  const encoding = await detectEncoding(source);
  let text = '';
  if (encoding) for await (const piece of decodedPieces(source, encoding)) text += piece;
  return { name: encoding?.name, text, notes: encoding?.notes.map((note) => note.code) ?? [] };
}

const SIMPLE = '日期,门店,销售额\n2026-01-01,北京,300\n2026-01-02,广州,200\n';
const TRADITIONAL = '日期,門市,銷售額\n2026-01-01,臺北,300\n2026-01-02,高雄,200\n';
const JAPANESE = '日付,店舗,売上高\n2026-01-01,東京,300\nりんご,カテゴリ,1\n';

describe('encoding', () => {
  it.each([
    ['utf-8', SIMPLE],
    ['utf-8', 'nom,prénom\nDupré,Léa\n'],
    ['utf-8', 'имя,город\nАнна,Москва\n'],
    ['utf-8', 'α,β\nγ,δ\n'],
    ['utf-8', 'price,unit\n5,€\n'],
    ['gb18030', SIMPLE],
    ['gb18030', '姓名\n张\n'],
    ['gb18030', 'a,b\n数据,1\n'],
    ['gb18030', '姓名,成绩\n张三,90\n李四,85\n'],
    ['gb18030', TRADITIONAL],
    ['big5', TRADITIONAL],
    ['big5', '城市,人口\n北京,2000\n'],
    ['shift_jis', JAPANESE],
    ['euc-jp', JAPANESE],
    ['euc-kr', '날짜,매장,매출\n2026-01-01,서울,300\n'],
    ['windows-1252', 'nom,prénom,âge\nDupré,Léa,30\nMüller,Jörg,41\n'],
    ['windows-1251', 'имя,город\nАнна,Москва\n'],
    ['utf-16le', SIMPLE],
    ['utf-16be', SIMPLE],
  ])('finds %s without a mark: %j', async (name, text) => {
    expect(await read(encode(text, name))).toMatchObject({ name, text });
  });

  it.each([
    ['utf-8', 'utf-8-sig', [0xef, 0xbb, 0xbf]],
    ['utf-16le', 'utf-16le', [0xff, 0xfe]],
    ['utf-16be', 'utf-16be', [0xfe, 0xff]],
  ])('takes the byte order mark of %s for what it is', async (encoding, name, mark) => {
    expect(await read(Buffer.concat([Buffer.from(mark), encode(SIMPLE, encoding)]))).toEqual({
      name,
      text: SIMPLE,
      notes: [],
    });
  });

  it('knows the escapes of ISO-2022-JP', async () => {
    const found = await read(Buffer.from('\x1b$BF|IU\x1b(B,a\n1,2\n'));
    expect(found).toEqual({ name: 'iso-2022-jp', text: '日付,a\n1,2\n', notes: [] });
  });

  it('calls plain ASCII UTF-8', async () => {
    expect(await read(Buffer.from('a,b\n1,2\n'))).toMatchObject({ name: 'utf-8', notes: [] });
  });

  it('finds a first Chinese name behind megabytes of ASCII', async () => {
    const text = `id,name\n${'1,a\n'.repeat(300_000)}2,张三丰和李四的数据\n`;
    expect(await read(encode(text, 'gb18030'))).toMatchObject({ name: 'gb18030', text });
  });

  it.each([1, 2])(
    'keeps UTF-8 that is cut inside of its last character, and says so (%i byte short)',
    async (short) => {
      const whole = Buffer.from('名称\n数据');
      expect(await read(whole.subarray(0, whole.length - short))).toMatchObject({
        name: 'utf-8',
        notes: ['cut_character'],
      });
    },
  );

  it('keeps UTF-8 with a damaged place in it, and says so', async () => {
    const bytes = Buffer.from(`名称\n${'数据\n'.repeat(2000)}`);
    bytes[3001] = 0xff;
    expect(await read(bytes)).toMatchObject({ name: 'utf-8', notes: ['broken_characters'] });
  });

  it('reads characters that fall on the seam of two pieces', async () => {
    for (const shift of [0, 1, 2]) {
      const text = 'x'.repeat(shift) + '数据和'.repeat(60_000);
      for (const name of ['utf-8', 'gb18030', 'utf-16le'] as const) {
        const found = await read(
          Buffer.concat([name === 'utf-16le' ? Buffer.from([0xff, 0xfe]) : Buffer.alloc(0), encode(text, name)]),
        );
        expect([name, found.name, found.text === text]).toEqual([name, name, true]);
      }
    }
  });

  it.each([
    ['a PNG', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['zeros', Buffer.alloc(1000)],
    ['control characters', Buffer.from(Array.from({ length: 500 }, (_, n) => n % 9))],
  ])('finds no text in %s', async (_what, bytes) => {
    expect((await read(bytes)).name).toBeUndefined();
  });

  it('says that a text holds zero bytes further down', async () => {
    expect(await read(Buffer.from(`a,b\n${'1,2\n'.repeat(100_000)}3,\0\n`))).toMatchObject({
      name: 'utf-8',
      notes: ['nul_bytes'],
    });
  });
});
