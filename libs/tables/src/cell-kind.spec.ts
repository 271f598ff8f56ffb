import { describe, expect, it } from 'vitest';
import { KIND, kindOfCell, quickKind, UNDECIDED } from './cell-kind.ts';
import { ColumnProfile } from './column-profile.ts';

const nameOf = (kind: number) => Object.entries(KIND).find(([, bit]) => bit === kind)?.[0] ?? 'missing';

describe('kind of a cell', () => {
  it.each([
    ['integer', ['0', '7', '-12', '+3', '123456789012345', '20261301', '10000000']],
    ['number', ['0.5', '-1.25', '.5', '5.', '1.5e-3', '1e10', '2E-5', '1.0E+10', '-0.0']],
    ['thousands', ['1,234', '1,234,567.89', '-1,000']],
    ['decimalComma', ['1,5', '12,75', '1.234,56', '-0,1']],
    ['percent', ['12.5%', '3 %', '-1,5%', '1,200%', '5％']],
    ['currency', ['¥1,234.50', '$5', '-€3.10', '100元', '3.5万元', 'US$ 12', '($1,200)']],
    ['compactDate', ['20260101', '19991231']],
    [
      'date',
      [
        '2026-01-01',
        '2026-1-5',
        '2026/1/31',
        '2026.01.31',
        '2026年1月',
        '2026年01月05日',
        '2026年1月5号',
        '2026-01',
        '31/12/2026',
        '1/2/26',
        '5-Jan-2026',
        'Jan 5, 2026',
      ],
    ],
    [
      'datetime',
      [
        '2026-01-01 10:00',
        '2026-01-01T10:00:00Z',
        '2026-01-01T10:00:00.123+08:00',
        '2026/1/1 9:05:00',
        '2026年1月1日 10时30分',
        '20260101 10:00:00',
      ],
    ],
    ['time', ['10:00', '9:05:30', '23:59:59.123']],
    ['boolean', ['true', 'False', 'TRUE']],
    ['id', ['000001', '010000', '202601010000000123', '1E10', '2E05', '007.5', '-01']],
    ['missingMark', ['-', '--', '—', '无', '#DIV/0!']],
    ['missing', ['', ' ', 'NA', 'NaN', 'null', 'None', '#N/A']],
    [
      'string',
      [
        'abc',
        '张三',
        '2026-13-01',
        '2026-02-32',
        '13:5',
        '1-2-3-4',
        '1.2.3',
        '5" wide',
        '12abc',
        '1_000',
        '32/13/2026',
        'x'.repeat(100),
        '+',
        '1,23,4',
        '192.168.0.1',
        '3%x',
        'nan1',
      ],
    ],
  ])('%s', (kind, cells) => {
    expect(cells.map((cell) => [cell, nameOf(kindOfCell(cell))])).toEqual(cells.map((cell) => [cell, kind]));
  });

  it('is the same by the quick look wherever that decides', () => {
    const parts = [
      '',
      '-',
      '+',
      '0',
      '1',
      '7',
      '20',
      '2026',
      '01',
      '12',
      '31',
      '99',
      '.',
      '-',
      'e5',
      ',',
      ' ',
      'a',
      '年',
      '123456789',
    ];
    let decided = 0;
    for (let n = 0; n < parts.length ** 3; n += 1) {
      const at = (power: number) => parts[Math.floor(n / parts.length ** power) % parts.length]!;
      for (const cell of [at(0) + at(1) + at(2), `2026-${at(0)}-${at(1)}${at(2)}`]) {
        const quick = quickKind(`x${cell}y`, 1, 1 + cell.length);
        if (quick === UNDECIDED) continue;
        decided += 1;
        expect([cell, nameOf(quick)]).toEqual([cell, nameOf(kindOfCell(cell))]);
      }
    }
    expect(decided).toBeGreaterThan(1000);
  });
});

describe('type of a column', () => {
  const typeOf = (...cells: string[]) => {
    const profile = new ColumnProfile();
    for (const cell of cells) profile.addSlice(`,${cell},`, 1, 1 + cell.length);
    return profile;
  };

  it.each([
    ['integer', ['1', '2', '', 'NA']],
    ['number', ['1', '2.5', '1,000']],
    ['number', ['10%', '5']],
    ['integer', ['20260101', '1']],
    ['date', ['20260101', '20260102']],
    ['date', ['2026-01-01', '2026/1/2']],
    ['datetime', ['2026-01-01', '2026-01-01 10:00']],
    ['string', ['1', 'a']],
    ['string', ['000001', '1']],
    ['string', ['2026-01-01', '5']],
    ['boolean', ['true', 'FALSE']],
    ['number', ['1.5', '-']],
    ['string', ['-', '—']],
    ['empty', ['', 'NaN']],
  ])('is %s for %j', (type, cells) => {
    expect(typeOf(...cells).type).toBe(type);
  });

  it('finds a few texts among many numbers, however late', () => {
    const numbers = Array.from({ length: 5000 }, (_, n) => String(n));
    const mixed = typeOf(...numbers, '约三百');
    expect([mixed.type, mixed.mostly]).toEqual(['string', 'integer']);
    expect(typeOf('a', 'b', '1').mostly).toBeNull();
  });

  it('names the ways its dates are written beyond the usual', () => {
    expect(typeOf('2026-01-01').datePatterns).toEqual([]);
    expect(typeOf('2026年1月', '2026年2月').datePatterns).toEqual(['YYYY年M月']);
    expect(typeOf('2026-01-01', '2026/1/1').datePatterns).toEqual(['YYYY-MM-DD', 'YYYY/M/D']);
    expect(typeOf('1/2/2026').dateOrderUnclear).toBe(true);
  });
});
