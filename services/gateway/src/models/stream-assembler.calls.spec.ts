import { describe, expect, test } from 'vitest';
import { A, assemble, B, calls, delta, fragment } from './stream-assembler.fixture.ts';

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
