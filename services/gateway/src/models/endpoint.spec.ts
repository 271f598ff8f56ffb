import { expect, test } from 'vitest';
import { keyHeaders, readEndpoint } from './endpoint.ts';

test.each([
  ['https://api.openai.com/v1', ['https://api.openai.com/v1/chat/completions']],
  ['https://api.openai.com/v1/chat/completions/', ['https://api.openai.com/v1/chat/completions']],
  ['http://localhost:11434', ['http://localhost:11434/v1/chat/completions', 'http://localhost:11434/chat/completions']],
  ['localhost:11434/v1', ['http://localhost:11434/v1/chat/completions']],
  [
    'https://dashscope.aliyuncs.com/compatible-mode/v1',
    ['https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions'],
  ],
  ['https://ark.cn-beijing.volces.com/api/v3', ['https://ark.cn-beijing.volces.com/api/v3/chat/completions']],
  ['https://x.example/v1beta/openai/', ['https://x.example/v1beta/openai/chat/completions']],
  ['http://[::1]:8080/v1', ['http://[::1]:8080/v1/chat/completions']],
])('%s', (base, urls) => {
  expect(readEndpoint(base, 'm').chatUrls).toEqual(urls);
});

test('Azure gets its own path, version and header', () => {
  const plain = readEndpoint('https://corp.openai.azure.com/', 'gpt-4o');
  expect(plain.chatUrls).toEqual([
    'https://corp.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
  ]);
  const full = readEndpoint(
    'https://corp.openai.azure.com/openai/deployments/d1/chat/completions?api-version=2025-01-01-preview',
    'x',
  );
  expect(full.chatUrls).toEqual([
    'https://corp.openai.azure.com/openai/deployments/d1/chat/completions?api-version=2025-01-01-preview',
  ]);
  expect(readEndpoint('https://corp.openai.azure.com/openai/v1', 'x').chatUrls).toEqual([
    'https://corp.openai.azure.com/openai/v1/chat/completions',
  ]);
  expect(keyHeaders(plain, 'k')).toEqual({ 'api-key': 'k' });
  expect(keyHeaders(readEndpoint('http://h/v1', 'x'), 'k')).toEqual({ authorization: 'Bearer k' });
  expect(keyHeaders(plain, '')).toEqual({});
});

test.each(['', 'ftp://x/v1', 'http://', 'https://user:pw@host/v1', 'javascript:alert(1)', 'not a url'])(
  '"%s" is refused',
  (base) => {
    expect(() => readEndpoint(base, 'm')).toThrow(expect.objectContaining({ code: 'bad_request' }));
  },
);
