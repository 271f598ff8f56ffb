import { describe, expect, it } from 'vitest';
import type { TableDisplay } from '../api/types.ts';
import { isNumeric, sortedRows, toCsv, toTsv } from './table-data.ts';

const table: TableDisplay = {
  columns: [
    { name: '地区', type: 'object' },
    { name: 'id', type: 'int64' },
    { name: 'x', type: 'object' },
  ],
  rows: [
    ['华东', '9007199254740993', 2],
    ['=SUM(A1)', 5, null],
    ['a "b", c', 12, -1],
  ],
  totalRows: 3,
  totalColumns: 3,
};

describe('table data', () => {
  it('sorts numbers by size even when one needs all its digits as text, empty cells last', () => {
    expect(sortedRows(table, 1, 'ascending').map((row) => row[1])).toEqual([5, 12, '9007199254740993']);
    expect(sortedRows(table, 2, 'ascending').map((row) => row[2])).toEqual([-1, 2, null]);
    expect(sortedRows(table, 2, 'descending').map((row) => row[2])).toEqual([2, -1, null]);
  });

  it('knows columns of numbers', () => {
    expect([0, 1, 2].map((column) => isNumeric(table, column))).toEqual([false, true, true]);
  });

  it('writes CSV that spreadsheets read as it was, with a byte order mark and without running formulas', () => {
    expect(toCsv(table, table.rows)).toBe(
      '\ufeff地区,id,x\r\n华东,9007199254740993,2\r\n\'=SUM(A1),5,\r\n"a ""b"", c",12,-1\r\n',
    );
  });

  it('writes tabs for the clipboard', () => {
    expect(toTsv(table, [['a\tb', 1, null]])).toBe('地区\tid\tx\na b\t1\t');
  });
});
