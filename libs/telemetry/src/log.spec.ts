import { afterEach, expect, test } from 'vitest';
import { configureLog, log, withoutSecrets } from './log.ts';
import { withTraceId } from './trace-id.ts';

const lines: string[] = [];
configureLog({ service: 'test', level: 'info', write: (line) => lines.push(line) });
afterEach(() => {
  lines.length = 0;
});

const last = () => JSON.parse(lines.at(-1) ?? '{}');

test('a line is one JSON object with its fields and the trace id of what is being done', () => {
  withTraceId('a'.repeat(32), () => log.info('a run ended', { tenant: 'ten_1', run: 'run_1', verdict: 'ok' }));
  expect(last()).toMatchObject({
    level: 'info',
    service: 'test',
    message: 'a run ended',
    trace: 'a'.repeat(32),
    run: 'run_1',
    verdict: 'ok',
  });
  log.info('outside');
  expect(last()).not.toHaveProperty('trace');
  expect(lines.every((line) => !line.includes('\n'))).toBe(true);
});

test('lines below the level are not written', () => {
  log.debug('quiet');
  expect(lines).toEqual([]);
});

test('an error keeps name, code, causes and the top of its stack', () => {
  const error = new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) });
  log.error('failed', { error });
  expect(last().error).toMatchObject({
    name: 'Error',
    message: 'outer',
    cause: { message: 'inner', code: 'ECONNREFUSED' },
  });
  expect(last().error.stack.length).toBeGreaterThan(0);
  log.error('failed', { error: 'only text' });
  expect(last().error).toEqual({ name: 'string', message: 'only text' });
});

test.each([
  ['postgres://moli_app:p%40ss@db:5432/moli', 'postgres://moli_app:***@db:5432/moli'],
  ['redis://:secret@127.0.0.1:6379', 'redis://:***@127.0.0.1:6379'],
  ['Authorization: Bearer abc.def-123', 'Authorization: Bearer ***'],
  ['key moli_0123456789abcdefABCDEF-_xyz is wrong', 'key moli_*** is wrong'],
  ['Incorrect API key provided: sk-proj-0123456789abcdef', 'Incorrect API key provided: sk_***'],
  ['GET /objects/a?signature=abc&x=1', 'GET /objects/a?signature=***&x=1'],
  ['role moli_app is fine', 'role moli_app is fine'],
])('%s is logged without its secret', (text, expected) => {
  expect(withoutSecrets(text)).toBe(expected);
});
