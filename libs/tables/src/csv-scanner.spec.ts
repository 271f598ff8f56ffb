import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { CsvScanner, cellsOf, RECORD_CHARACTERS } from './csv-scanner.ts';

/** Scans a text cut into pieces of the given sizes, in turn. */
function scan(
  text: string,
  delimiter = ',',
  sizes: readonly number[] = [text.length || 1],
): { rows: string[][]; end: string } {
  const rows: string[][] = [];
  const scanner = new CsvScanner(delimiter, true, (record) => {
    rows.push(cellsOf(record));
  });
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    scanner.push(text.slice(at, at + size));
    at += size;
  }
  return { rows, end: scanner.finish() };
}

/** Random numbers from a seed, so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('csv scanner', () => {
  it.each([
    [
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a,b\r\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a,b\r1,2\r',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a,,\n,,\n',
      [
        ['a', '', ''],
        ['', '', ''],
      ],
    ],
    ['\n\na\n  \n\nb\n', [['a'], ['b']]],
    ['""\na', [[''], ['a']]],
    ['"a,b","c\r\nd","e""f"\n', [['a,b', 'c\r\nd', 'e"f']]],
    ['5" wide,a"b"c\n', [['5" wide', 'a"b"c']]],
    ['"a"b,"c""d"e,f\n', [['ab', 'c"de', 'f']]],
    ['"",""""\n', [['', '"']]],
    [' "a",b\n', [[' "a"', 'b']]],
  ])('reads %j', (text, rows) => {
    expect(scan(text)).toEqual({ rows, end: 'complete' });
  });

  it('agrees with csv-parse on random quoted data, however the text is cut', () => {
    const cells = [
      '',
      'a',
      '12',
      '"',
      '""',
      ',',
      ';',
      '\n',
      '\r\n',
      '\r',
      ' ',
      '中文',
      '😀',
      'a "b" c',
      'x,y\nz',
      '\t|',
    ];
    for (let seed = 1; seed <= 400; seed += 1) {
      const next = random(seed);
      const delimiter = [',', ';', '\t', '|'][next(4)]!;
      const newline = ['\n', '\r\n', '\r'][next(3)]!;
      const width = 2 + next(5);
      const rows = Array.from({ length: 1 + next(30) }, () =>
        Array.from({ length: width }, () => Array.from({ length: next(4) }, () => cells[next(cells.length)]!).join('')),
      );
      const quoted = (cell: string) =>
        next(3) === 0 || /["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
      const text = rows.map((row) => row.map(quoted).join(delimiter)).join(newline) + (next(2) ? newline : '');
      const peer = parse(text, { delimiter, record_delimiter: newline }) as string[][];
      expect([seed, peer]).toEqual([seed, rows]);
      const sizes = [[text.length || 1], [1], [2, 3, 7], [64, 1]][next(4)]!;
      expect([seed, scan(text, delimiter, sizes)]).toEqual([seed, { rows, end: 'complete' }]);
    }
  });

  it('says that a quote is never closed, without holding the rest of the file', () => {
    expect(scan('a,b\n1,"2\n3,4\n').end).toBe('unclosed_quote');
    const pieces: boolean[] = [];
    const scanner = new CsvScanner(',', true, () => {});
    for (let n = 0; n < 100; n += 1) pieces.push(scanner.push(n === 0 ? 'a,"' : 'x'.repeat(100_000)));
    expect(pieces.indexOf(false) * 100_000).toBeLessThan(RECORD_CHARACTERS + 200_000);
    expect(scanner.finish()).toBe('unclosed_quote');
  });

  it('tells a file that was cut inside of a quoted cell from a stray quote', () => {
    expect(scan('a,b\n"1","2"\n"3","4').end).toBe('cut_in_quote');
    expect(scan(`a,b\n${'"1","2\n3"\n'.repeat(10)}"4","5\n6`).end).toBe('cut_in_quote');
    expect(scan('a,b\n1,2\n"3,4\n5,6\n').end).toBe('unclosed_quote');
  });

  it('stops at a line that is no record', () => {
    const scanner = new CsvScanner(',', true, () => {});
    while (scanner.push('x'.repeat(100_000)));
    expect(scanner.finish()).toBe('record_too_long');
  });

  it('stops when the reader has enough', () => {
    let seen = 0;
    const scanner = new CsvScanner(',', true, () => ++seen < 3);
    expect(scanner.push('a\n'.repeat(100))).toBe(false);
    expect([seen, scanner.finish()]).toEqual([3, 'complete']);
  });
});
