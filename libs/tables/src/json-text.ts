import type { ByteSource } from './byte-source.ts';
import type { Note, Shape } from './description.ts';
import type { Encoding } from './encoding.ts';
import { JsonScanner } from './json-scanner.ts';
import { bigIntegers, ShapeBuilder, shapeText } from './json-shape.ts';
import { listed, note } from './table-notes.ts';
import { decodedPieces } from './text-pieces.ts';

/** A line beyond this is no record; it is counted as broken. */
const LONGEST_LINE = 16 * 1024 * 1024;

export interface JsonText {
  readonly kind: 'json' | 'jsonl';
  readonly shape: Shape;
  readonly notes: readonly Note[];
  /** The text is one whole JSON value, or lines of them with at most the last one cut. */
  readonly valid: boolean;
}

/** Describes JSON or JSON lines in one or two passes. `lines` says that the name claims lines. */
export async function describeJson(source: ByteSource, encoding: Encoding, lines: boolean): Promise<JsonText> {
  if (lines) {
    const result = await readLines(source, encoding);
    // A document over several lines with a `.jsonl` name: no line is a value, the whole is.
    if (result.records > 0) return result.text;
  }
  const shape = new ShapeBuilder();
  const scanner = new JsonScanner(shape);
  let behind = false;
  let firstLine = true;
  for await (const piece of decodedPieces(source, encoding)) {
    const wasComplete = scanner.complete;
    const stopped = scanner.push(piece);
    behind = stopped < piece.length && scanner.error === null;
    if (behind || scanner.error !== null) break;
    if (!wasComplete && !scanner.complete && piece.includes('\n')) firstLine = false;
  }
  if (behind && !lines && firstLine) {
    const result = await readLines(source, encoding);
    if (result.records > 1 && result.records > 10 * result.broken) return result.text;
  }
  const whole = scanner.finish() && !behind;
  const notes = [...encoding.notes, ...commonNotes(shape, scanner.notFinite)];
  if (!whole) notes.push(behind ? moreBehind() : invalid(scanner.error ?? 0));
  return {
    kind: 'json',
    shape: { records: whole ? shape.topItems : null, text: shapeText(shape) },
    notes,
    valid: whole,
  };
}

interface Lines {
  readonly records: number;
  readonly broken: number;
  readonly text: JsonText;
}

async function readLines(source: ByteSource, encoding: Encoding): Promise<Lines> {
  const shape = new ShapeBuilder();
  let [records, broken, lastBroken, notFinite] = [0, 0, false, false];
  const readLine = (line: string, last: boolean): void => {
    if (line.trim() === '') return;
    // The last line may be cut: what it lacks is no sign that its keys are optional.
    if (last && !new JsonScanner(new ShapeBuilder()).accepts(line)) {
      lastBroken = true;
      return;
    }
    const scanner = new JsonScanner(shape);
    shape.reset();
    if (scanner.accepts(line)) records += 1;
    else broken += 1;
    notFinite ||= scanner.notFinite;
  };
  let waiting = '';
  for await (const line of linesOf(source, encoding)) {
    if (line.trim() === '') continue;
    readLine(waiting, false);
    waiting = line;
  }
  readLine(waiting, true);
  const notes = [...encoding.notes, ...commonNotes(shape, notFinite)];
  if (lastBroken) {
    notes.push(
      note(
        'last_line_cut',
        `最后一行不完整，没有计入；完整的记录有 ${records} 条（逐行 json.loads 并跳过它，pd.read_json 会报错）`,
        `the last line is cut off and not counted; there are ${records} whole records (json.loads each line and skip it: pd.read_json fails on it)`,
      ),
    );
  }
  if (broken > 0)
    notes.push(
      note(
        'broken_lines',
        `${broken} 行不是有效的 JSON，没有计入（逐行 json.loads 并跳过它们）`,
        `${broken} lines are not valid JSON and were not counted (json.loads each line and skip them)`,
      ),
    );
  return {
    records,
    broken,
    text: { kind: 'jsonl', shape: { records, text: shapeText(shape) }, notes, valid: records > 0 && broken === 0 },
  };
}

async function* linesOf(source: ByteSource, encoding: Encoding): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of decodedPieces(source, encoding)) {
    let start = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      yield rest + piece.slice(start, end);
      rest = '';
      start = end + 1;
    }
    if (rest.length < LONGEST_LINE) rest += piece.slice(start);
  }
  yield rest;
}

function commonNotes(shape: ShapeBuilder, notFinite: boolean): Note[] {
  const notes: Note[] = [];
  const big = bigIntegers(shape);
  if (big.length > 0) {
    const list = listed(big);
    notes.push(
      note(
        'big_integers',
        `${list.zh} 含有超过 2^53 的整数，须保持为整数或文本，不能转成浮点数`,
        `${list.en}: integers beyond 2^53; keep them as integers or text, never as floats`,
      ),
    );
  }
  if (notFinite)
    notes.push(
      note(
        'not_finite',
        '含有 NaN 或 Infinity：Python 能读，严格的 JSON 不允许',
        'it holds NaN or Infinity: Python reads them, strict JSON does not',
      ),
    );
  return notes;
}

const invalid = (position: number): Note =>
  note(
    'json_invalid',
    `不是完整有效的 JSON：第 ${position + 1} 个字符处有误或中断`,
    `not whole, valid JSON: it breaks at character ${position + 1}`,
  );
const moreBehind = (): Note =>
  note('json_more', '第一个 JSON 值之后还有其他内容', 'more text follows behind the first JSON value');
