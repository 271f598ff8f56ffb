import { expect, test } from 'vitest';
import { scrub } from './model-error.ts';
import { errorOfRefusal, retryAfter } from './server-errors.ts';

const codeOf = (status: number | undefined, message: string, type = '') =>
  errorOfRefusal({ status, message, type }).code;

test.each([
  [
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'context_length_exceeded',
  ],
  [
    400,
    "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (39000 in the messages, 1000 in the completion).",
    'BadRequestError',
  ],
  [400, 'The decoder prompt (length 40960) is longer than the maximum model length of 32768.', ''],
  [400, 'the request exceeds the available context size. try increasing the context size', ''],
  [400, 'input length and max_tokens exceed context limit', ''],
  [400, 'Range of input length should be [1, 30720]', 'InvalidParameter'],
  [400, 'Input is too long: prompt is too long', ''],
  [400, '输入的 token 数超出模型最大长度限制', ''],
  [413, 'Payload too large', ''],
])('%i "%s" is an overflow of the context', (status, message, type) => {
  expect(codeOf(status, message, type)).toBe('context_overflow');
});

test.each([
  [401, 'Unauthorized', '', 'model_auth'],
  [400, 'API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT', 'model_auth'],
  [403, 'Country not supported', '', 'model_auth'],
  [404, 'The model `gpt-9` does not exist or you do not have access to it.', 'model_not_found', 'model_not_found'],
  [404, 'model "qwen3" not found, try pulling it first', '', 'model_not_found'],
  [400, 'Model Not Exist', 'invalid_request_error', 'model_not_found'],
  [404, 'Not Found', '', 'model_unreachable'],
  [402, 'Insufficient Balance', '', 'model_refused'],
  [
    429,
    'You exceeded your current quota, please check your plan and billing details.',
    'insufficient_quota',
    'model_refused',
  ],
  [429, 'Rate limit reached for requests', 'rate_limit_exceeded', 'model_overloaded'],
  [400, 'Input data may contain inappropriate content.', 'data_inspection_failed', 'model_refused'],
  [400, 'registry.ollama.ai/library/x does not support tools', '', 'model_refused'],
  [500, 'Internal Server Error', '', 'model_failed'],
  [502, 'upstream worker is full', '', 'model_failed'],
  [503, 'overloaded', '', 'model_overloaded'],
  [undefined, 'something odd', '', 'model_failed'],
  [418, 'teapot', '', 'model_refused'],
] as const)('%s "%s" becomes the right code', (status, message, type, code) => {
  expect(codeOf(status, message, type)).toBe(code);
});

test('the words of a server are bounded and carry no secrets', () => {
  const words = scrub(
    `bad\u0000 key sk-abcdefghijklmnop1234\nBearer abc.def.ghijk https://me:pw@host/x token=abcdef123 ${'长'.repeat(500)}`,
  );
  expect(words).not.toMatch(/sk-abc|abc\.def|me:pw|abcdef123|\s\s/);
  expect(words).toBe(words.replaceAll('\u0000', ''));
  expect(words.length).toBeLessThanOrEqual(301);
  expect(scrub('own-key-9 again own-key-9', ['own-key-9'])).toBe('*** again ***');
});

test('Retry-After is read as seconds and as a date, and bounded', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(retryAfter('3', now)).toBe(3);
  expect(retryAfter('0.2', now)).toBe(1);
  expect(retryAfter('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(30);
  expect(retryAfter('Thu, 01 Jan 2020 00:00:30 GMT', now)).toBe(0);
  expect(retryAfter('999999', now)).toBe(3600);
  expect(retryAfter('soon', now)).toBeUndefined();
  expect(retryAfter(undefined, now)).toBeUndefined();
});
