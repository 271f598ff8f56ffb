import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { parseExact } from './exact-json.ts';
import type { ModelEvent } from './provider.types.ts';
import { SsePayloads } from './sse-payloads.ts';
import { StreamAssembler } from './stream-assembler.ts';

/** Answers are made at random, written down in random ones of the ways that servers use, cut at random bytes, and must come back equal. */
const CASES = 2_000;

type Random = () => number;
interface Answer {
  reasoning: string;
  text: string;
  calls: { name: string; json: string }[];
}

/** mulberry32: the same seed gives the same case on every machine. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const below = (random: Random, n: number) => Math.floor(random() * n);
const pick = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)]!;
const chance = (random: Random, p: number) => random() < p;

const NAMES = ['run_python', 'file_read', 'calculate'];
const WORDS = [
  '销售',
  ' trend',
  '\n',
  '\n\n',
  ' ',
  '🌍',
  '👩‍👩‍👧',
  '`<tool_call>`',
  ' </think>',
  '<b>',
  '{',
  '}',
  '"',
  '\\',
  '\\n',
  '\t',
  'é',
  '\n```\ncode\n```\n',
  'x < y',
  ' <think>',
  '<tool',
  '\u2028',
];
const CODE = [
  'print("{[")',
  'df = pd.read_csv("a.csv")\n',
  "s = '}\\\\'",
  '# 注释 🌍\n',
  'x = {"a": [1, 2]}',
  '"""\n',
  '</tool_call>',
  '\\n',
  '{',
  '}',
  '\t',
  "f'{x!r}'",
];

const many = (random: Random, words: readonly string[], most: number) =>
  Array.from({ length: below(random, most + 1) }, () => pick(random, words)).join('');

function makeAnswer(random: Random): Answer {
  const text = `${chance(random, 0.75) ? `答${many(random, WORDS, 12)}` : ''}`;
  const count = text === '' ? 1 + below(random, 3) : below(random, 4);
  const calls = Array.from({ length: count }, (_, i) => {
    const big = chance(random, 0.2) ? ', "id": 9007199254740993' : '';
    return { name: pick(random, NAMES), json: `{"code": ${JSON.stringify(many(random, CODE, 8))}, "n": ${i}${big}}` };
  });
  return {
    reasoning: chance(random, 0.4)
      ? `想${many(
          random,
          WORDS.filter((word) => !word.includes('think')),
          6,
        )}了`
      : '',
    text,
    calls,
  };
}

function cut(random: Random, text: string): string[] {
  if (chance(random, 0.2) || text === '') return [text];
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + below(random, chance(random, 0.5) ? 4 : 40);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** How the calls of one answer are written. Only mixtures that leave one reading: interleaved calls need an index or an id everywhere. */
function callFrames(random: Random, calls: Answer['calls']): object[] {
  const style = pick(random, ['index', 'zero', 'none'] as const);
  const ids = pick(random, ['first', 'every', 'empty', 'missing', 'null'] as const);
  const cumulative = chance(random, 0.15);
  const repeatName = pick(random, ['no', 'same', 'empty', 'null'] as const);
  const emptyFirst = chance(random, 0.4);
  const lists = calls.map(({ name, json }, i) => {
    if (chance(random, 0.1) && !json.includes('9007')) return [entry(i, 0, name, JSON.parse(json))];
    let sofar = '';
    const pieces = (emptyFirst ? [''] : []).concat(cut(random, json));
    return pieces.map((piece, k) => {
      sofar += piece;
      return entry(
        i,
        k,
        k === 0 || repeatName === 'same' ? name : repeatName === 'no' ? undefined : repeatName === 'null' ? null : '',
        cumulative ? sofar : piece,
      );
    });
  });
  function entry(i: number, k: number, name: string | null | undefined, args: unknown): object {
    const id =
      ids === 'missing'
        ? undefined
        : ids === 'null'
          ? null
          : ids === 'empty'
            ? ''
            : k === 0 || ids === 'every'
              ? `call_${i}`
              : undefined;
    const fn = { ...(name === undefined ? {} : { name }), arguments: args };
    return {
      ...(style === 'none' ? {} : { index: style === 'zero' ? 0 : i }),
      ...(id === undefined ? {} : { id }),
      type: 'function',
      function: fn,
    };
  }
  const interleave = (style === 'index' || ids === 'every') && chance(random, 0.5);
  const frames: object[] = [];
  // A call begins only after the ones before it have begun, unless its index says where it belongs.
  let begun = style === 'index' ? lists.length : 0;
  while (lists.some((list) => list.length > 0)) {
    const open = lists.slice(0, begun).filter((list) => list.length > 0);
    if (open.length === 0 || (interleave && begun < lists.length && chance(random, 0.3))) {
      begun++;
      frames.push({ tool_calls: [lists[begun - 1]!.shift()] });
      continue;
    }
    frames.push({ tool_calls: [(interleave ? pick(random, open) : open[0]!).shift()] });
  }
  return frames;
}

const escaped = (character: string) =>
  [...Array(character.length).keys()]
    .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
    .join('');

function serialise(random: Random, answer: Answer): { bytes: Buffer; inline: boolean } {
  const deltas: object[] = [];
  const tags = chance(random, 0.5);
  let text = answer.text;
  if (answer.reasoning && tags)
    text = `<think>${chance(random, 0.5) ? '\n' : ''}${answer.reasoning}\n</think>\n\n${text}`;
  else if (answer.reasoning) {
    const field = pick(random, ['reasoning_content', 'reasoning']);
    for (const piece of cut(random, answer.reasoning))
      deltas.push({ [field]: piece, content: pick(random, [null, '']) });
  }
  const inline = answer.calls.length > 0 && chance(random, 0.2);
  if (inline) {
    const markup = answer.calls
      .map(({ name, json }) => `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call>`)
      .join('\n');
    // The markup must begin a line, and not inside an open fence.
    text = text === '' || text.endsWith('\n') ? text + markup : `${text}\n${markup}`;
  }
  if (text !== '') for (const piece of cut(random, text)) deltas.push({ content: piece });
  if (!inline) deltas.push(...callFrames(random, answer.calls));
  const finish = inline || answer.calls.length === 0 ? 'stop' : pick(random, ['tool_calls', 'stop']);
  const frames: object[] = deltas.map((delta) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null }],
  }));
  if (chance(random, 0.9)) frames.push({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  if (chance(random, 0.5)) frames.push({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } });
  const newline = pick(random, ['\n', '\r\n']);
  const space = pick(random, ['', ' ']);
  const lines = frames.map((frame) => {
    const json = chance(random, 0.3) ? JSON.stringify(frame).replace(/\P{ASCII}/gu, escaped) : JSON.stringify(frame);
    return `${chance(random, 0.1) ? `: keep-alive${newline}${newline}` : ''}data:${space}${json}${newline}${newline}`;
  });
  return { bytes: Buffer.from(`${lines.join('')}data:${space}[DONE]${newline}${newline}`, 'utf8'), inline };
}

function assemble(random: Random, bytes: Buffer): { events: ModelEvent[]; fault: unknown } {
  let made = 0;
  const assembler = new StreamAssembler({ offered: NAMES, newId: () => `made_${made++}` });
  const payloads = new SsePayloads();
  const events: ModelEvent[] = [];
  const most = pick(random, [1, 5, 100, 100_000]);
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + below(random, most);
    for (const payload of payloads.push(bytes.subarray(at, at + size))) events.push(...assembler.push(payload));
    at += size;
  }
  const { events: last, fault } = assembler.finish();
  return { events: [...events, ...last], fault };
}

test(`${CASES} random answers come back equal, however they were sent`, () => {
  for (let seed = 1; seed <= CASES; seed++) {
    const random = seeded(seed);
    const answer = makeAnswer(random);
    const { bytes, inline } = serialise(random, answer);
    // White space between the words and calls written as text belongs to neither.
    const shown = (text: string) => (inline ? text.trimEnd() : text);
    const { events, fault } = assemble(random, bytes);
    const joined = (type: 'text' | 'reasoning') =>
      events.map((event) => (event.type === type ? event.text : '')).join('');
    const calls = events.filter((event) => event.type === 'call').map(({ call }) => call);
    const got = {
      fault,
      reasoning: joined('reasoning'),
      text: shown(joined('text')),
      calls: calls.map(({ name, arguments: args }) => ({ name, json: JSON.stringify(parseExact(args)) })),
    };
    const wanted = {
      fault: undefined,
      reasoning: answer.reasoning,
      text: shown(answer.text),
      calls: answer.calls.map(({ name, json }) => ({ name, json: JSON.stringify(parseExact(json)) })),
    };
    const sameIds = new Set(calls.map(({ id }) => id)).size < calls.length;
    // Only a case that failed is worth a message.
    if (sameIds || !isDeepStrictEqual(got, wanted))
      expect({ ...got, sameIds }, `seed ${seed}:\n${bytes}`).toEqual({ ...wanted, sameIds: false });
  }
}, 60_000);
