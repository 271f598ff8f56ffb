import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  key = gateway.first.key ?? '';
});
afterAll(() => gateway.close());

/** Every refusal has this shape; nothing else leaves. */
function expectProblem(answer: Answer, status: number, code: string) {
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(answer.json).toMatchObject({
    type: `urn:moli:error:${code}`,
    status,
    code,
    title: expect.any(String),
    detail: expect.any(String),
  });
  expect(answer.status).toBe(status);
  expect(answer.json.traceId).toBe(answer.headers.get('moli-trace-id') ?? answer.json.traceId);
  expect(answer.text).not.toMatch(/node_modules|\.ts:|\bat \w+ \(|FST_ERR|statusCode/);
}

const post = (body: unknown, headers: Record<string, string> = {}) => gateway.ask('/v1/keys', { key, body, headers });

describe('problem bodies', () => {
  it('for what the framework refuses before a handler', async () => {
    expectProblem(await gateway.ask('/v1/nothing-here'), 404, 'not_found');
    expectProblem(await gateway.ask('/v1/keys', { method: 'PUT', key, body: {} }), 404, 'not_found');
    expectProblem(await gateway.ask('/%ff'), 400, 'bad_request');
    expectProblem(await gateway.ask('/v1/keys/%E0%A4%A'), 400, 'bad_request');
    expectProblem(await post('{"name":'), 400, 'bad_request');
    expectProblem(await post(''), 400, 'bad_request');
    expectProblem(await post('{"__proto__":{"x":1}}'), 400, 'bad_request');
    expectProblem(
      await post('name=x', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'unsupported_type',
    );
    expectProblem(await post(JSON.stringify({ name: 'a'.repeat(10_000_000) })), 413, 'body_too_large');
  });

  it('name the field: wrong type, missing, unknown, too long, not one of', async () => {
    const cases: [unknown, string, RegExp][] = [
      [{ name: 5 }, 'name', /name must be of type string/],
      [{}, 'name', /name is required/],
      [{ name: 'x', colour: 'red' }, '', /unknown fields "colour"/],
      [{ name: 'x'.repeat(101) }, 'name', /name is too large or too long, at most 100/],
      [{ name: 'x', role: 'king' }, 'role', /role must be one of "owner", "admin"/],
      [[], '', /must be of type object/],
      [null, '', /must be of type object/],
    ];
    for (const [body, path, text] of cases) {
      const answer = await post(JSON.stringify(body));
      expectProblem(answer, 400, 'bad_request');
      expect(answer.json.issues[0].path).toBe(path);
      expect(answer.json.detail).toMatch(text);
    }
  });

  it('for deep nesting, without trouble', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    expectProblem(await post(deep), 400, 'bad_request');
  });

  it('for text that the database cannot hold', async () => {
    expectProblem(await post(JSON.stringify({ name: 'a\u0000b' })), 400, 'bad_request');
  });

  it('in the language of the reader', async () => {
    const languages: [string, string][] = [
      ['zh-CN,zh;q=0.9,en;q=0.8', '请先登录'],
      ['en-GB', 'Sign in first'],
      ['fr, zh;q=0.5', '请先登录'],
      ['de', 'Sign in first'],
      ['en;q=0.1, zh', '请先登录'],
      ['zh;q=0', 'Sign in first'],
    ];
    for (const [header, title] of languages) {
      const answer = await gateway.ask('/v1/me', { headers: { 'accept-language': header } });
      expect([header, answer.json.title]).toEqual([header, title]);
    }
  });

  it('for a Host that is not ours', async () => {
    const { request } = await import('node:http');
    const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      request(`${gateway.url}/v1/settings`, { headers: { host: 'evil.example' } }, (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      })
        .on('error', reject)
        .end();
    });
    expect([status, JSON.parse(body).code]).toEqual([421, 'misdirected']);
  });
});

describe('answers', () => {
  it('carry security headers, and no cache for the API', async () => {
    const { headers } = await gateway.ask('/v1/settings');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
      'moli-trace-id': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});
