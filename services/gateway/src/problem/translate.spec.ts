import { AppError } from '@moli/errors';
import { expect, test } from 'vitest';
import { translate } from './translate.ts';

const thrown = (fields: Record<string, unknown>, message = 'x') => Object.assign(new Error(message), fields);

test.each([
  ['Postgres refuses connections', thrown({ code: 'ECONNREFUSED' })],
  ['Postgres is starting', thrown({ code: '57P03' })],
  ['Postgres was stopped by its administrator', thrown({ code: '57P01' })],
  ['Postgres has no connection left', thrown({ code: '53300' })],
  ['the pool waited too long', thrown({}, 'timeout exceeded when trying to connect')],
  ['a connection broke in the middle', thrown({}, 'Connection terminated unexpectedly')],
  ['Redis does not come back', thrown({ name: 'MaxRetriesPerRequestError' })],
  ['Redis is loading', thrown({ name: 'ReplyError' }, 'LOADING Redis is loading the dataset in memory')],
  ['Nest is stopping', thrown({ getStatus: () => 503 })],
])('%s: unavailable, with a time to try again', (_, error) => {
  expect(translate(error)).toMatchObject({ code: 'unavailable', retryAfterSeconds: 2, cause: error });
});

test.each([
  [400, 'bad_request'],
  [404, 'not_found'],
  [413, 'body_too_large'],
  [415, 'unsupported_type'],
  [429, 'rate_limited'],
  [418, 'internal'],
])('a refusal of the framework with status %d is %s, in our words', (statusCode, code) => {
  const error = translate(thrown({ statusCode }, 'words of the framework'));
  expect(error.code).toBe(code);
  expect(JSON.stringify(error.detail)).not.toContain('words of the framework');
});

test('anything else is internal and says nothing of its cause', () => {
  for (const value of [new TypeError('secret'), 'secret', null, undefined, { secret: 1 }]) {
    const error = translate(value);
    expect(error.code).toBe('internal');
    expect(JSON.stringify(error.detail)).not.toContain('secret');
  }
  const own = new AppError('no_model', { zh: '无', en: 'none' });
  expect(translate(own)).toBe(own);
});
