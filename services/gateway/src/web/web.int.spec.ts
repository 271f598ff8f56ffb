import { mkdirSync, writeFileSync } from 'node:fs';
import { testFolder } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';

let gateway: TestGateway;
const root = testFolder('web');

beforeAll(async () => {
  mkdirSync(`${root}/assets`);
  writeFileSync(`${root}/index.html`, '<!doctype html><title>Moli</title>');
  writeFileSync(`${root}/assets/main-abc123.js`, 'export {};');
  writeFileSync(`${root}/favicon.svg`, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(`${root}/.secret`, 'no');
  writeFileSync(`${root}/../outside.txt`, 'no');
  gateway = await startTestGateway({ MOLI_WEB_DIR: root });
});
afterAll(() => gateway.close());

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('the workbench', () => {
  it.each(['/', '/index.html', '/s/ses_123', '/settings/models'])(
    '%s is the page, checked anew each time, under the strict policy',
    async (path) => {
      const answer = await gateway.ask(path, { headers: HTML });
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('<title>Moli</title>');
      expect(answer.headers.get('cache-control')).toBe('no-cache');
      const policy = answer.headers.get('content-security-policy') ?? '';
      expect(policy).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; " +
          "frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      );
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
      expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    },
  );

  it('files with a hash in their name stay for a year, others an hour', async () => {
    const hashed = await gateway.ask('/assets/main-abc123.js');
    expect(hashed.headers.get('content-type')).toContain('javascript');
    expect(hashed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect((await gateway.ask('/favicon.svg')).headers.get('cache-control')).toBe('public, max-age=3600');
  });

  it.each(['/assets/gone-1.js', '/../outside.txt', '/%2e%2e/outside.txt', '/v1/typo', '/api/typo'])(
    '%s is a 404 problem',
    async (path) => {
      const answer = await gateway.ask(path, { headers: HTML });
      expect([answer.status, answer.json?.code]).toEqual([404, 'not_found']);
      expect(answer.text).not.toContain(root);
    },
  );

  it.each(['/.secret', '/assets/..%2f..%2foutside.txt', '/assets/%5c..%5c..%5coutside.txt', '//outside.txt'])(
    '%s gives away nothing',
    async (path) => {
      const answer = await gateway.ask(path, { headers: HTML });
      expect(answer.text).not.toMatch(/^no$/);
      expect(answer.text).not.toContain(root);
    },
  );
});

describe('settings', () => {
  it('need no credentials', async () => {
    const { status, json } = await gateway.ask('/v1/settings');
    expect(status).toBe(200);
    expect(json).toMatchObject({ upload: { maxBytes: 52_428_800 }, scripted: false, locales: ['zh', 'en'] });
    expect(json.upload.types).toContainEqual({ extension: 'csv', mimeTypes: expect.arrayContaining(['text/csv']) });
  });
});
