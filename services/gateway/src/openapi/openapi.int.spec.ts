import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { makeDocument } from './document.ts';
import { offlineDocument } from './offline-document.ts';

/** Served, but no part of the public API: pages, the preflight of tus, the document itself. */
const UNDOCUMENTED = [
  /^HEAD /,
  /^OPTIONS /,
  /^GET \/\*$/,
  /^GET \/docs/,
  /^GET \/openapi\.json$/,
  /^(PATCH|DELETE) \/api\/upload$/,
  /^POST \/api\/upload\/\{id\}$/,
];

interface Operation {
  readonly operationId: string;
  readonly responses: Record<string, { readonly content?: object }>;
}

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const documented = (url: string): string =>
  url
    .replaceAll(/:(\w+)/g, '{$1}')
    .replace('/api/upload/*', '/api/upload/{id}')
    .replace('/objects/*', '/objects/{key}');

describe('the OpenAPI document', () => {
  it('is the committed one (npm run openapi -w @moli/gateway)', async () => {
    const committed = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
    const { info, ...now } = JSON.parse(JSON.stringify(await offlineDocument()));
    const { info: _, ...before } = committed;
    expect(now).toEqual(before);
    expect(info.title).toBe('Moli');
  });

  it('names every served route and no other', () => {
    const document = makeDocument(gateway.app);
    const inDocument = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = gateway.routes
      .map(({ method, url }) => `${method} ${documented(url)}`)
      .filter((route) => !UNDOCUMENTED.some((pattern) => pattern.test(route)));
    expect([...new Set(served)].sort()).toEqual(
      [...new Set(inDocument)].filter((route) => !route.startsWith('HEAD ')).sort(),
    );
  });

  it('describes parts of content, and how a framed page tells its height', () => {
    const { paths } = makeDocument(gateway.app);
    for (const path of ['/v1/files/{id}/content', '/v1/artifacts/{id}/content']) {
      expect(paths[path]?.get?.parameters).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ name: 'Range', in: 'header', required: false }),
          expect.objectContaining({ name: 'If-Range', in: 'header', required: false }),
        ]),
      );
      expect(Object.keys(paths[path]?.get?.responses ?? {})).toEqual(['200', '206', '416', 'default']);
    }
    const described = { name: 'frame', description: expect.stringContaining('moliFrameHeight') };
    expect(paths['/v1/artifacts/{id}/content']?.get?.parameters).toContainEqual(expect.objectContaining(described));
  });

  it('gives every operation an id of its own, an answer of success and the problem', () => {
    const document = makeDocument(gateway.app);
    const operations = Object.values(document.paths).flatMap((item) =>
      Object.values(item as Record<string, Operation>),
    );
    const ids = operations.map((operation) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const operation of operations) {
      expect([operation.operationId, Object.keys(operation.responses).some((status) => /^[123]/.test(status))]).toEqual(
        [operation.operationId, true],
      );
      expect(operation.responses.default?.content).toHaveProperty('application/problem+json');
    }
  });

  it('is served, with a readable page that runs no script', async () => {
    const served = await gateway.ask('/openapi.json');
    expect(served.json.openapi).toBe('3.1.0');
    const page = await gateway.ask('/docs');
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(page.text).not.toMatch(/<script|style=|<style| on\w+="/);
    expect(page.text).toContain('/v1/code/execute');
  });
});
