import { describe, expect, test } from 'vitest';
import { A, assemble, content, delta, fragment } from './stream-assembler.fixture.ts';

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
