import { describe, expect, test } from 'vitest';
import { assemble, content, delta } from './stream-assembler.fixture.ts';

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
