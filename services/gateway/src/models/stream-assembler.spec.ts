import { describe, expect, test } from 'vitest';
import type { ModelEvent } from './provider.types.ts';
import { StreamAssembler } from './stream-assembler.ts';

const OFFERED = ['run_python', 'file_read', 'file_list'];

/** Feeds frames (objects or raw payloads), with [DONE] at the end unless it is left out. */
function assemble(frames: readonly (object | string)[], { done = true, offered = OFFERED } = {}) {
  let made = 0;
  const assembler = new StreamAssembler({ offered, newId: () => `made_${made++}` });
  const events: ModelEvent[] = frames.flatMap((frame) =>
    assembler.push(typeof frame === 'string' ? frame : JSON.stringify(frame)),
  );
  if (done) assembler.push('[DONE]');
  const { events: last, fault } = assembler.finish();
  events.push(...last);
  const joined = (type: 'text' | 'reasoning') =>
    events.map((event) => (event.type === type ? event.text : '')).join('');
  return {
    text: joined('text'),
    reasoning: joined('reasoning'),
    calls: events.filter((event) => event.type === 'call').map(({ call }) => call),
    end: events.find((event) => event.type === 'end'),
    fault,
  };
}

const delta = (part: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: part, finish_reason: finish }],
});
const content = (text: unknown) => delta({ content: text });
const fragment = (fields: object) => delta({ tool_calls: [fields] });
const calls = (...frames: object[]) =>
  assemble([...frames, delta({}, 'tool_calls')]).calls.map(({ name, arguments: args }) => [name, args]);
const A = '{"code":"a"}';
const B = '{"code":"b"}';

describe('calls', () => {
  test.each<[string, object[], [string, string][]]>([
    [
      'two whole ones in one frame without index and id',
      [
        delta({
          tool_calls: [
            { function: { name: 'run_python', arguments: A } },
            { function: { name: 'run_python', arguments: B } },
          ],
        }),
      ],
      [
        ['run_python', A],
        ['run_python', B],
      ],
    ],
    [
      'two in one frame, both of index 0',
      [
        delta({
          tool_calls: [
            { index: 0, function: { name: 'file_read', arguments: '' } },
            { index: 0, function: { name: 'file_list', arguments: '' } },
          ],
        }),
      ],
      [
        ['file_read', ''],
        ['file_list', ''],
      ],
    ],
    [
      'one after the other without index, id or anything between',
      [
        fragment({ function: { name: 'run_python', arguments: A } }),
        fragment({ function: { name: 'run_python', arguments: B } }),
      ],
      [
        ['run_python', A],
        ['run_python', B],
      ],
    ],
    [
      'another tool on the same index',
      [
        fragment({ index: 0, function: { name: 'file_list', arguments: '' } }),
        fragment({ index: 0, function: { name: 'file_read', arguments: A } }),
      ],
      [
        ['file_list', ''],
        ['file_read', A],
      ],
    ],
    [
      'another id on every splinter',
      [
        fragment({ index: 0, id: 'x1', function: { name: 'run_python', arguments: '{"code"' } }),
        fragment({ index: 0, id: 'x2', function: { arguments: ':"a"}' } }),
      ],
      [['run_python', A]],
    ],
    [
      'another id and the name on every splinter',
      [
        fragment({ index: 0, id: 'x1', function: { name: 'run_python', arguments: '{"code"' } }),
        fragment({ index: 0, id: 'x2', function: { name: 'run_python', arguments: ':"a"}' } }),
      ],
      [['run_python', A]],
    ],
    [
      'the name in splinters',
      [
        fragment({ index: 0, id: 'i', function: { name: 'run_' } }),
        fragment({ index: 0, function: { name: 'python' } }),
        fragment({ index: 0, function: { arguments: A } }),
      ],
      [['run_python', A]],
    ],
    [
      'the name growing',
      [
        fragment({ index: 0, function: { name: 'run' } }),
        fragment({ index: 0, function: { name: 'run_python', arguments: A } }),
      ],
      [['run_python', A]],
    ],
    [
      'the name once more at the end',
      [
        fragment({ index: 0, function: { name: 'run_python', arguments: A } }),
        fragment({ index: 0, function: { name: 'run_python', arguments: '' } }),
      ],
      [['run_python', A]],
    ],
    [
      'the whole once more at the end',
      [
        fragment({ index: 0, id: 'i', function: { name: 'run_python', arguments: '{"code"' } }),
        fragment({ index: 0, function: { arguments: ':"a"}' } }),
        fragment({ index: 0, function: { arguments: A } }),
      ],
      [['run_python', A]],
    ],
    [
      'an empty object first, then splinters',
      [
        fragment({ index: 0, id: 'i', function: { name: 'run_python', arguments: {} } }),
        fragment({ index: 0, function: { arguments: '{"code"' } }),
        fragment({ index: 0, function: { arguments: ':"a"}' } }),
      ],
      [['run_python', A]],
    ],
    [
      'the index as a string',
      [
        fragment({ index: '0', id: 'i', function: { name: 'run_python', arguments: '{"code"' } }),
        fragment({ index: 0, function: { arguments: ':"a"}' } }),
      ],
      [['run_python', A]],
    ],
    [
      'the index from 1',
      [
        fragment({ index: 1, id: 'i', function: { name: 'run_python', arguments: A } }),
        fragment({ index: 2, id: 'j', function: { name: 'run_python', arguments: B } }),
      ],
      [
        ['run_python', A],
        ['run_python', B],
      ],
    ],
    [
      'the second before the first',
      [
        fragment({ index: 1, id: 'j', function: { name: 'run_python', arguments: B } }),
        fragment({ index: 0, id: 'i', function: { name: 'run_python', arguments: A } }),
      ],
      [
        ['run_python', A],
        ['run_python', B],
      ],
    ],
    [
      'the older function_call',
      [
        delta({ function_call: { name: 'run_python', arguments: '{"code"' } }),
        delta({ function_call: { arguments: ':"a"}' } }),
      ],
      [['run_python', A]],
    ],
    [
      'name and arguments without a function object',
      [fragment({ index: 0, name: 'run_python', arguments: A })],
      [['run_python', A]],
    ],
    [
      'nothing but null beside it',
      [
        fragment({ index: 0, id: null, type: null, function: { name: 'run_python', arguments: null } }),
        fragment({ index: 0, id: null, function: { name: null, arguments: A } }),
      ],
      [['run_python', A]],
    ],
    [
      'a tool that was not offered',
      [fragment({ index: 0, id: 'i', function: { name: 'rm_rf', arguments: '{}' } })],
      [['rm_rf', '{}']],
    ],
  ])('%s', (_, frames, wanted) => {
    expect(calls(...frames)).toEqual(wanted);
  });

  test('ids are the server’s, made up where there are none, and never twice', () => {
    const { calls: got } = assemble([
      fragment({ index: 0, id: 'same', function: { name: 'run_python', arguments: A } }),
      fragment({ index: 1, id: 'same', function: { name: 'run_python', arguments: B } }),
      fragment({ index: 2, id: '', function: { name: 'run_python', arguments: B } }),
      delta({}, 'tool_calls'),
    ]);
    expect(got.map(({ id }) => id)).toEqual(['same', 'made_0', 'made_1']);
  });

  test('arguments without a name are refused, with nothing to run', () => {
    const { calls: got, fault } = assemble([
      fragment({ index: 0, id: 'i', function: { arguments: A } }),
      delta({}, 'tool_calls'),
    ]);
    expect(got).toEqual([]);
    expect(fault).toMatchObject({ code: 'model_bad_answer' });
  });

  test('a call in a stream that was cut, or ended by a fault, is not given out', () => {
    const call = fragment({ index: 0, id: 'i', function: { name: 'run_python', arguments: A } });
    expect(assemble([call], { done: false })).toMatchObject({ calls: [], fault: { code: 'model_cut' } });
    expect(assemble([call, delta({}, 'content_filter')])).toMatchObject({
      calls: [],
      fault: { code: 'model_refused' },
    });
    expect(assemble([call, { error: { message: 'x' } }])).toMatchObject({ calls: [], fault: { code: 'model_failed' } });
  });
});

describe('calls written as text', () => {
  const inline = (body: string) => `<tool_call>\n${body}\n</tool_call>`;
  const A_TEXT = inline(`{"name": "run_python", "arguments": ${A}}`);

  test.each<[string, string, string, number]>([
    ['alone', A_TEXT, '', 1],
    ['after words', `好的。\n${A_TEXT}\n`, '好的。', 1],
    ['two', `${A_TEXT}\n${A_TEXT}`, '', 2],
    ['after thinking', `<think>x</think>${A_TEXT}`, '', 1],
    ['without the last closing tag', A_TEXT.replace('</tool_call>', ''), '', 1],
    [
      'in the way of Qwen-Coder',
      inline('<function=run_python>\n<parameter=code>\nprint(1)\n</parameter>\n</function>'),
      '',
      1,
    ],
    ['with more text after it', `${A_TEXT}\n这样写。`, `${A_TEXT}\n这样写。`, 0],
    ['in a fence', `\`\`\`\n${A_TEXT}\n\`\`\``, `\`\`\`\n${A_TEXT}\n\`\`\``, 0],
    ['in the middle of a line', `例如 ${A_TEXT}`, `例如 ${A_TEXT}`, 0],
    [
      'of a tool that was not offered',
      inline('{"name": "rm_rf", "arguments": {}}'),
      inline('{"name": "rm_rf", "arguments": {}}'),
      0,
    ],
    ['that are no call', '<tool_call> 表示调用', '<tool_call> 表示调用', 0],
  ])('%s', (_, text, shown, count) => {
    for (const pieces of [[text], [...text]]) {
      const got = assemble([...pieces.map(content), delta({}, 'stop')]);
      expect(got.text.trim()).toBe(shown);
      expect(got.calls).toHaveLength(count);
    }
  });

  test('broken JSON goes on as it is, for the tools to refuse', () => {
    const [call] = assemble([
      content(inline('{"name": "run_python", "arguments": {"code": "print("a")"}}')),
      delta({}, 'stop'),
    ]).calls;
    expect(call).toMatchObject({ name: 'run_python', arguments: expect.stringContaining('print("a")') });
  });

  test('markup is text when no tools were offered', () => {
    expect(assemble([content(A_TEXT), delta({}, 'stop')], { offered: [] })).toMatchObject({ text: A_TEXT, calls: [] });
  });

  test('the same call as text and as a call is one', () => {
    expect(
      assemble([
        content(A_TEXT),
        fragment({ index: 0, id: 'i', function: { name: 'run_python', arguments: A } }),
        delta({}, 'tool_calls'),
      ]).calls,
    ).toHaveLength(1);
  });
});

describe('text and thinking', () => {
  test.each<[string, unknown[], string, string]>([
    [
      'parts in place of a string',
      [
        [
          { type: 'thinking', thinking: [{ type: 'text', text: 't' }] },
          { type: 'text', text: 'a' },
        ],
      ],
      'a',
      't',
    ],
    ['null and empty', [null, '', 'a', undefined], 'a', ''],
    ['the long tag', ['<thinking>t</thinking>a'], 'a', 't'],
    ['nothing in the tag', ['<think>\n\n</think>\n\na'], 'a', ''],
    ['a tag that is no tag', ['<thinker>a'], '<thinker>a', ''],
    ['a tag later on', ['a <think>b</think>'], 'a <think>b</think>', ''],
    ['a NUL', ['a\u0000b'], 'a\ufffdb', ''],
    ['half a character at the end', ['a\ud83c'], 'a\ufffd', ''],
  ])('%s', (_, pieces, text, reasoning) => {
    expect(assemble([...pieces.map(content), delta({}, 'stop')])).toMatchObject({ text, reasoning, fault: undefined });
  });

  test('both names of the thinking with the same words count once', () => {
    expect(
      assemble([delta({ reasoning: 'r', reasoning_content: 'r' }), content('a'), delta({}, 'stop')]),
    ).toMatchObject({ reasoning: 'r' });
  });

  test('messages that repeat all so far are not doubled', () => {
    const whole = (text: string) => ({ choices: [{ message: { role: 'assistant', content: text } }] });
    expect(assemble([whole('你'), whole('你好'), whole('你好世界'), delta({}, 'stop')]).text).toBe('你好世界');
  });

  test('only the first of several answers is read', () => {
    const second = {
      choices: [
        { index: 1, delta: { content: 'no' } },
        { index: 0, delta: { content: 'yes' } },
      ],
    };
    expect(assemble([second, delta({}, 'stop')]).text).toBe('yes');
  });
});

describe('the end', () => {
  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['STOP', 'stop'],
    ['eos', 'stop'],
  ])('the reason %s is %s', (given, finishReason) => {
    expect(assemble([content('a'), delta({}, given)]).end).toMatchObject({ finishReason });
  });

  test('usage comes from the tail, from any frame, or from where Groq has it', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    const wanted = { promptTokens: 5, completionTokens: 2 };
    expect(assemble([content('a'), delta({}, 'stop'), { choices: [], usage }]).end).toMatchObject({ usage: wanted });
    expect(
      assemble([
        { ...content('a'), usage },
        { ...delta({}, 'stop'), usage: null },
      ]).end,
    ).toMatchObject({ usage: wanted });
    expect(assemble([content('a'), { ...delta({}, 'stop'), x_groq: { usage } }]).end).toMatchObject({ usage: wanted });
    expect(
      assemble([content('a'), delta({}, 'stop'), { choices: null, usage: { input_tokens: 5, output_tokens: 2 } }]).end,
    ).toMatchObject({ usage: wanted });
  });

  test('usage inside of the choice counts, an empty error beside an answer does not', () => {
    const last = {
      choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 5, completion_tokens: 2 } }],
      error: {},
    };
    expect(assemble([content('a'), last])).toMatchObject({
      fault: undefined,
      end: { usage: { promptTokens: 5, completionTokens: 2 } },
    });
  });

  test.each([
    ['nothing at all', [delta({}, 'stop')], /empty answer/],
    ['white space alone', [content(' \n'), delta({}, 'stop')], /empty answer/],
    ['only thinking', [content('<think>hm'), delta({}, 'stop')], /empty answer/],
    ['thinking up to the bound', [delta({ reasoning: 'r' }), delta({}, 'length')], /whole allowed length/],
    ['the reason tool_calls without a call', [delta({}, 'tool_calls')], /empty answer/],
  ])('%s is an empty answer', (_, frames, words) => {
    expect(assemble(frames).fault).toMatchObject({ code: 'model_bad_answer', message: expect.stringMatching(words) });
  });

  test.each([
    ['an error object', { error: { message: 'full', code: 503 } }, 'model_overloaded'],
    ['an error string', { error: 'full' }, 'model_failed'],
    [
      'the form of vLLM',
      { object: 'error', message: 'maximum context length is 10 tokens', code: 400 },
      'context_overflow',
    ],
    [
      'the form of DashScope',
      { code: 'DataInspectionFailed', message: 'data_inspection_failed', request_id: 'r' },
      'model_refused',
    ],
    ['a rate limit inside', { error: { message: 'slow down', code: '429' } }, 'model_overloaded'],
  ])('%s ends the answer with its words', (_, frame, code) => {
    const got = assemble([content('a'), frame, content('never')]);
    expect(got).toMatchObject({ text: 'a', fault: { code } });
  });

  test.each([
    ['words to keep the line warm', ['keep-alive', 'ping', '']],
    ['two frames under each other', [`${JSON.stringify(content('b'))}\n${JSON.stringify(content('c'))}`]],
  ])('%s do no harm', (_, extra) => {
    expect(assemble([content('a'), ...extra, delta({}, 'stop')])).toMatchObject({
      fault: undefined,
      text: expect.stringMatching(/^a(bc)?$/),
    });
  });

  test('a frame of broken JSON ends the answer', () => {
    expect(assemble([content('a'), '{"choices": [', content('b')])).toMatchObject({
      text: 'a',
      fault: { code: 'model_bad_answer' },
    });
  });

  test('words held back are given out when the stream is cut', () => {
    expect(assemble([content('<thi')], { done: false })).toMatchObject({ text: '<thi', fault: { code: 'model_cut' } });
    expect(assemble([content('a\n<tool_call>{"na')], { done: false })).toMatchObject({
      text: 'a\n',
      fault: { code: 'model_cut' },
    });
  });
});
