import { expect } from 'vitest';
import type { TestGateway } from '../gateway.fixture.ts';

/** What each route that serves stored bytes answers to ranges: `content` is all that `path` serves, at least 8 ASCII bytes. */
export async function expectRanges(gateway: TestGateway, key: string, path: string, content: string): Promise<void> {
  const length = content.length;
  const ask = (headers: Record<string, string> = {}, method = 'GET') => gateway.ask(path, { key, headers, method });
  const whole = await ask();
  expect([whole.status, whole.headers.get('accept-ranges')]).toEqual([200, 'bytes']);
  expect(whole.text).toBe(content);
  const etag = whole.headers.get('etag') ?? '';

  for (const [range, start, end] of [
    ['bytes=0-3', 0, 3],
    ['bytes=4-', 4, length - 1],
    ['bytes=-2', length - 2, length - 1],
    [`bytes=4-${length + 99}`, 4, length - 1],
  ] as const) {
    const part = await ask({ range, 'if-range': etag });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/${length}`]);
    expect(part.text).toBe(content.slice(start, end + 1));
    expect(part.headers.get('content-length')).toBe(String(part.text.length));
    for (const name of ['etag', 'content-type', 'content-disposition', 'content-security-policy']) {
      expect(part.headers.get(name)).toBe(whole.headers.get(name));
    }
  }
  const ignored: Record<string, string>[] = [
    { range: 'bytes=0-1,3-4' },
    { range: 'bytes=4-', 'if-range': '"another"' },
  ];
  for (const headers of ignored) {
    expect(await ask(headers)).toMatchObject({ status: 200, text: content });
  }

  for (const [language, words] of [
    ['zh', /不在其中/],
    ['en', /is not in it/],
  ] as const) {
    const refused = await ask({ range: `bytes=${length}-`, 'accept-language': language });
    expect([refused.status, refused.headers.get('content-range')]).toEqual([416, `bytes */${length}`]);
    expect(refused.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    // A refusal must not be kept in place of the content.
    expect(refused.headers.get('cache-control')).not.toContain('immutable');
    expect(refused.json).toMatchObject({
      code: 'range_not_satisfiable',
      bytes: length,
      detail: expect.stringMatching(words),
    });
    expect(refused.text).not.toContain('ten_');
  }

  for (const range of ['', 'bytes=0-3', `bytes=${length}-`]) {
    const head = await ask(range ? { range } : {}, 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['content-length', 'accept-ranges', 'etag', 'content-type', 'content-disposition']) {
      expect([name, head.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
    }
  }
}
