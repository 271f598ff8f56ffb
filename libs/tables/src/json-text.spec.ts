import { describe, expect, it } from 'vitest';
import { describeFile, type FileDescription } from './index.ts';
import { JsonScanner } from './json-scanner.ts';
import { ShapeBuilder, shapeText } from './json-shape.ts';

const json = (text: string, name = 'data.json'): Promise<FileDescription> =>
  describeFile({ buffer: Buffer.from(text) }, { name });
const codes = (found: FileDescription) => found.notes.map((note) => note.code);

function accepts(text: string, sizes: readonly number[]): boolean {
  const scanner = new JsonScanner(new ShapeBuilder());
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const piece = text.slice(at, at + sizes[turn % sizes.length]!);
    if (scanner.push(piece) < piece.length) return false;
    at += piece.length;
  }
  return scanner.finish();
}

const parses = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('json scanner', () => {
  it('accepts and refuses what JSON.parse does, however the text is cut', () => {
    const samples = [
      '{"a":1,"b":[true,false,null,"x",-0.5e+3],"c":{}}',
      '[]',
      '[[],[[]]]',
      '"\\u00e9\\n\\""',
      '0',
      '-1',
      ' \n{ "k" : [ 1 , 2 ] }\t',
      '"😀"',
      '{"键":"值","a\\"b":0}',
      '[1.5,2,"3",{"d":{"e":[{}]}}]',
    ];
    const signs = ['', ',', ':', '"', '{', '}', '[', ']', '0', '.', '-', 'e', 't', '\\', ' ', '\n', 'a'];
    let checked = 0;
    for (const sample of samples) {
      for (let at = 0; at <= sample.length; at += 1) {
        for (const sign of signs) {
          for (const text of [
            sample.slice(0, at) + sign + sample.slice(at),
            sample.slice(0, at) + sign + sample.slice(at + 1),
          ]) {
            // A wrong letter behind a backslash is left to whoever reads the file.
            if (/\\[^"\\/bfnrtu]|\\u(?![0-9a-f]{4})/i.test(text)) continue;
            checked += 1;
            expect([text, accepts(text, [[1], [text.length || 1], [2, 3]][checked % 3]!)]).toEqual([
              text,
              parses(text),
            ]);
          }
        }
      }
    }
    expect(checked).toBeGreaterThan(4000);
  });

  it('stops at absurd nesting instead of filling memory', () => {
    expect(accepts('['.repeat(100_000), [4096])).toBe(false);
    expect(accepts('['.repeat(400) + ']'.repeat(400), [4096])).toBe(true);
  });
});

describe('shape', () => {
  const shapeOf = (text: string) => {
    const shape = new ShapeBuilder();
    new JsonScanner(shape).push(text);
    return shapeText(shape);
  };

  it.each([
    ['{"a":1,"b":"x"}', '{ a: integer, b: string }'],
    ['[{"a":1},{"a":2.5,"b":null}]', '[2 × { a: number, b?: null }]'],
    ['[1,"x",null]', '[3 × string | integer | null]'],
    ['{"a b":[],"c":[[1],[1,2]]}', '{ "a b": [0], c: [2 × [1–2 × integer]] }'],
    ['{"x":[{"y":true}]}', '{ x: [1 × { y: boolean }] }'],
  ])('of %s', (text, shape) => {
    expect(shapeOf(text)).toBe(shape);
  });

  it('is bounded for data used as keys, deep data and long keys', () => {
    const ids = `{${Array.from({ length: 5000 }, (_, n) => `"id${n}":{"v":${n}}`).join(',')}}`;
    expect(shapeOf(ids)).toBe('{ [>100 keys]: { v: integer } }');
    expect(shapeOf('{"2026-01":1,"2026-02":2,"2026-03":3,"2026-04":4}')).toBe('{ [4 keys]: integer }');
    const wide = `{${Array.from({ length: 100 }, (_, n) => `"${'k'.repeat(300)}${n}":${n % 2 ? 1 : '"x"'}`).join(',')}}`;
    expect(shapeOf(wide).length).toBeLessThanOrEqual(2001);
    expect(shapeOf('[{"a":'.repeat(200)).length).toBeLessThan(300);
  });
});

describe('json files', () => {
  it('tell how many elements their list has', async () => {
    expect((await json('[{"a":1},{"a":2}]')).shape!.records).toBe(2);
  });

  it('are lines under any name where every line is a value', async () => {
    const lines = '{"a":1}\n{"a":2}\n\n{"a":3}\n';
    for (const name of ['x.jsonl', 'x.ndjson', 'x.json', 'x.txt']) {
      expect(await json(lines, name)).toMatchObject({
        kind: 'jsonl',
        mimeType: 'application/jsonl',
        shape: { records: 3 },
      });
    }
  });

  it('over several lines are one document under any name', async () => {
    const text = '{\n "a": [1,\n 2]\n}\n';
    expect(await json(text)).toMatchObject({ kind: 'json', notes: [] });
    expect(await json(text, 'x.jsonl')).toMatchObject({ kind: 'json', notes: [{ code: 'other_content' }] });
  });

  it('with faults are accepted and the fault is said', async () => {
    expect(codes(await json('{"a":1,}'))).toEqual(['json_invalid']);
    expect(codes(await json('{"a":'))).toEqual(['json_invalid']);
    expect(codes(await json('{"a":1}\n{\n"b"'))).toEqual(['json_more']);
    expect(codes(await json('{"a":NaN}'))).toEqual(['not_finite']);
    const lines = await json('{"a":1}\nnot json\n{"a":2}\n{"a"', 'x.jsonl');
    expect([lines.shape!.records, codes(lines)]).toEqual([2, ['last_line_cut', 'broken_lines']]);
  });

  it('keep their text encoding', async () => {
    const found = await describeFile({ buffer: Buffer.from('\ufeff{"名":"值"}', 'utf16le') }, { name: 'x.json' });
    expect(found).toMatchObject({ kind: 'json', encoding: 'utf-16le', shape: { text: '{ 名: string }' } });
  });
});
