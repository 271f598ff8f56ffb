import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkArguments } from '../tools/arguments.ts';
import { RUN_PYTHON } from '../tools/run-python.schema.ts';
import type { ModelEvent } from './provider.types.ts';
import { SsePayloads } from './sse-payloads.ts';
import { StreamAssembler } from './stream-assembler.ts';

/** Whole answers of real servers, collected from bug reports, with what is right for each. */
const FOLDER = fileURLToPath(new URL('../../../../test/cases/streams/', import.meta.url));

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}
interface Expectation {
  text?: string;
  textNotContains?: string;
  reasoning?: string;
  calls?: Call[];
  callsOneOf?: Call[][];
  mustSay?: string;
  mustNotRun?: boolean;
}
const EXPECTED: Record<string, Expectation> = JSON.parse(readFileSync(`${FOLDER}expect.json`, 'utf8'));

/** The answer as the rest of Moli sees it: shown text, and the calls that would run. */
function assemble(bytes: Uint8Array, cuts: (rest: number) => number) {
  let next = 0;
  const assembler = new StreamAssembler({ offered: ['run_python'], newId: () => `made_${next++}` });
  const payloads = new SsePayloads();
  const events: ModelEvent[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = cuts(bytes.length - at);
    for (const payload of payloads.push(bytes.subarray(at, at + size))) events.push(...assembler.push(payload));
    at += size;
  }
  for (const payload of payloads.end()) events.push(...assembler.push(payload));
  const { events: last, fault } = assembler.finish();
  events.push(...last);
  const joined = (type: 'text' | 'reasoning') => events.map((e) => (e.type === type ? e.text : '')).join('');
  const calls = events
    .filter((e) => e.type === 'call')
    .map(({ call }) => ({ name: call.name, checked: checkArguments(call.arguments, RUN_PYTHON) }))
    .filter(({ checked }) => 'value' in checked)
    .map(({ name, checked }) => ({ name, arguments: (checked as { value: object }).value }));
  return { text: joined('text'), reasoning: joined('reasoning'), calls, ended: events.at(-1)?.type === 'end', fault };
}

const CUTS: Record<string, (rest: number) => number> = {
  whole: (rest) => rest,
  'byte by byte': () => 1,
  'seven bytes': () => 7,
};

test('every stream has an expectation', () => {
  const names = readdirSync(FOLDER).filter((file) => file.endsWith('.sse'));
  expect(names.map((file) => file.replace('.sse', '')).sort()).toEqual(Object.keys(EXPECTED).sort());
});

for (const [name, wanted] of Object.entries(EXPECTED)) {
  for (const [how, cuts] of Object.entries(CUTS)) {
    test(`${name}, read ${how}`, () => {
      const got = assemble(readFileSync(`${FOLDER}${name}.sse`), cuts);
      if (wanted.text !== undefined) expect(got.text).toBe(wanted.text);
      if (wanted.textNotContains) expect(got.text).not.toContain(wanted.textNotContains);
      if (wanted.reasoning !== undefined) expect(got.reasoning).toBe(wanted.reasoning);
      if (wanted.calls) expect(got.calls).toEqual(wanted.calls);
      if (wanted.mustNotRun) expect(got.calls).toEqual([]);
      if (wanted.callsOneOf) expect(wanted.callsOneOf).toContainEqual(got.calls);
      if (wanted.mustSay) {
        expect(got.fault?.detail.zh).toContain(wanted.mustSay);
        expect(got.fault?.detail.en).toContain(wanted.mustSay);
        expect(got.ended).toBe(false);
      } else {
        expect(got.fault).toBeUndefined();
        expect(got.ended).toBe(true);
      }
    });
  }
}

test('the repairs that leave one reading are made, not only allowed', () => {
  const code = { code: 'print("MARK", 6*7)' };
  for (const name of ['arguments-backslash-n', 'arguments-cumulative', 'arguments-raw-code', 'qwen-inline-call']) {
    const got = assemble(readFileSync(`${FOLDER}${name}.sse`), CUTS.whole!);
    expect(got.calls, name).toEqual([{ name: 'run_python', arguments: code }]);
  }
});
