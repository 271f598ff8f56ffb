import { AppError } from '@moli/errors';
import { expect, test, vi } from 'vitest';
import type { Caller } from '../identity/caller.ts';
import { Metrics } from '../metrics.ts';
import type { ToolContext, ToolDefinition, ToolOutput } from './tool.types.ts';
import { openAiTools, ToolRegistry } from './tool-registry.ts';
import { ToolsService } from './tools.service.ts';

const CALLER: Caller = {
  tenantId: `ten_${'0'.repeat(32)}`,
  userId: null,
  role: 'member',
  keyId: null,
  actor: 'system',
  locale: 'zh',
};

function tool(
  name: string,
  handler: (args: object, context: ToolContext) => Promise<ToolOutput>,
  more: Partial<ToolDefinition> = {},
): ToolDefinition {
  return {
    name,
    description: `Does ${name}.`,
    parameters: {
      type: 'object',
      properties: { code: { type: 'string' } },
      required: ['code'],
      additionalProperties: false,
    },
    kind: 'builtin',
    permissions: [],
    flags: { cacheable: false, sideEffects: false, highRisk: false, timeoutSeconds: 5 },
    handler,
    ...more,
  };
}

function service(...tools: ToolDefinition[]) {
  const metrics = new Metrics();
  const tested = new ToolsService(new ToolRegistry(tools), metrics);
  const call = (
    name: string,
    rawArguments: string | object,
    more: { offered?: { name: string }[]; signal?: AbortSignal; onArguments?: () => void } = {},
  ) =>
    tested.call(CALLER, {
      name,
      rawArguments,
      offered: tools,
      callId: 'call_1',
      signal: new AbortController().signal,
      ...more,
    });
  return { tested, call, metrics };
}

test('a call gets the repaired arguments and answers in the envelope', async () => {
  const handler = vi.fn(async () => ({ content: 'done', state: { n: 1 } }));
  const { call } = service(tool('run', handler, { aliases: ['execute'] }));
  const onArguments = vi.fn();
  const result = await call('execute', '{"code": 5, "more": 1}', { onArguments });
  expect(result).toEqual({
    ok: true,
    content: 'done',
    state: { n: 1 },
    artifacts: [],
    cached: false,
    durationMs: expect.any(Number),
    arguments: { code: '5' },
  });
  expect(handler).toHaveBeenCalledWith({ code: '5' }, expect.objectContaining({ callId: 'call_1' }));
  expect(onArguments).toHaveBeenCalledWith({ code: '5' }, 'run');
  expect((await call('functions.run', { code: 'x' })).ok).toBe(true);
});

test('an unknown tool and one that was not offered look the same', async () => {
  const handler = vi.fn(async () => ({ content: '' }));
  const { call } = service(tool('a', handler), tool('b', handler));
  const hidden = await call('b', { code: 'x' }, { offered: [{ name: 'a' }] });
  const unknown = await call('zzz', { code: 'x' }, { offered: [{ name: 'a' }] });
  expect(hidden.error?.code).toBe('unknown_tool');
  expect(unknown.content.replace('zzz', 'b')).toBe(hidden.content);
  expect(handler).not.toHaveBeenCalled();
});

test('bad arguments go back with the place of each fault and nothing runs', async () => {
  const handler = vi.fn(async () => ({ content: '' }));
  const { call, metrics } = service(tool('run', handler));
  const onArguments = vi.fn();
  const result = await call('run', '{}', { onArguments });
  expect(result).toMatchObject({
    ok: false,
    error: {
      code: 'bad_arguments',
      message: '工具 run 的参数有误，没有执行：/code 缺少，必须是文本（string）。',
      explanation: { en: 'The arguments of run are not right and nothing was run: /code is required (string).' },
      issues: [{ path: '/code', message: 'is required (string)' }],
    },
  });
  expect(result.content).toContain('/code is required');
  expect((await call('run', '[1,2]')).error?.code).toBe('bad_arguments');
  expect(handler).not.toHaveBeenCalled();
  expect(onArguments).not.toHaveBeenCalled();
  expect(await metrics.registry.metrics()).toContain('moli_tool_calls_total{tool="run",outcome="bad_arguments"} 2');
});

test('what a handler throws is a failed result in the language of the caller', async () => {
  const { call } = service(
    tool('known', async () => {
      throw new AppError('not_found', { zh: '没有', en: 'none' });
    }),
    tool('bug', async () => {
      throw new TypeError('secret internals');
    }),
  );
  expect(await call('known', { code: 'x' })).toMatchObject({
    ok: false,
    error: { code: 'not_found', message: '没有' },
  });
  const bug = await call('bug', { code: 'x' });
  expect(bug.error?.code).toBe('internal');
  expect(JSON.stringify(bug)).not.toContain('secret');
});

test('a failed program is a failed call', async () => {
  const { call, metrics } = service(
    tool('run', async () => ({ content: 'Traceback', error: { code: 'user_error', message: 'ZeroDivisionError' } })),
  );
  expect(await call('run', { code: '1/0' })).toMatchObject({
    ok: false,
    content: 'Traceback',
    error: { code: 'user_error' },
  });
  expect(await metrics.registry.metrics()).toContain('moli_tool_calls_total{tool="run",outcome="failed"} 1');
});

test('a tool that does not come back is given up after its time', async () => {
  const flags = { cacheable: false, sideEffects: false, highRisk: false, timeoutSeconds: 0.02 };
  const { call } = service(tool('slow', () => new Promise(() => {}), { flags }));
  expect(await call('slow', { code: 'x' })).toMatchObject({ ok: false, error: { code: 'unavailable' } });
});

test('an agent is offered what it names, aliases understood, in one order', () => {
  const { tested } = service(
    tool('a', async () => ({ content: '' }), { aliases: ['alpha'] }),
    tool('b', async () => ({ content: '' })),
  );
  expect(tested.offered(CALLER, { tools: ['b', 'alpha', 'gone'] }).map(({ name }) => name)).toEqual(['a', 'b']);
  expect(tested.offered(CALLER, { tools: [] })).toEqual([]);
  expect(tested.offered(CALLER)).toHaveLength(2);
});

test('two tools cannot share a name', () => {
  const handler = async () => ({ content: '' });
  expect(() => new ToolRegistry([tool('a', handler), tool('b', handler, { aliases: ['a'] })])).toThrow('two tools');
});

test('the outside form holds name, description and parameters alone', () => {
  const [form] = openAiTools([tool('a', async () => ({ content: '' }))]);
  expect(form).toEqual({
    type: 'function',
    function: {
      name: 'a',
      description: 'Does a.',
      parameters: {
        type: 'object',
        properties: { code: { type: 'string' } },
        required: ['code'],
        additionalProperties: false,
      },
    },
  });
});
