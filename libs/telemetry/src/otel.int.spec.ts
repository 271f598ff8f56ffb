import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type OtlpCollector, startOtlpCollector } from '@moli/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A process with an HTTP route, asked by itself: probe, one-time token in the query and in the path, a span of ours that fails. */
const PROGRAM = `
import { createServer } from 'node:http';
import { span } from ${JSON.stringify(new URL('./spans.ts', import.meta.url).href)};
const server = createServer(async (request, response) => {
  await span('moli.turn.context', { 'moli.count': 2 }, () => { if (request.url.includes('invitations')) throw Object.assign(new Error('用户写的话'), { code: 'no_model' }); }).catch(() => {});
  response.end('ok');
}).listen(0, '127.0.0.1', async () => {
  const { port } = server.address();
  for (const path of ['/livez', '/v1/files?token=SECRET', '/v1/invitations/SECRET']) await (await fetch('http://127.0.0.1:' + port + path)).text();
  server.close();
});
`;

let collector: OtlpCollector;

beforeAll(async () => {
  collector = await startOtlpCollector();
});
afterAll(() => collector.stop());

function run(env: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  const preload = fileURLToPath(new URL('./otel.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', preload, '--input-type=module', '-e', PROGRAM], {
    env: { PATH: process.env.PATH, ...env },
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stderr })));
}

test('spans reach the collector with route, service and error code, and without tokens, messages or probes', async () => {
  const { code, stderr } = await run({ MOLI_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'gateway' });
  expect([code, stderr]).toEqual([0, '']);
  const { spans } = collector;
  const own = spans.filter(({ name }) => name === 'moli.turn.context');
  // Two: what a probe does is not traced at all.
  expect(own).toHaveLength(2);
  const failed = own.find(({ attributes }) => attributes['error.type'] === 'no_model');
  const served = spans.filter(
    ({ name, attributes }) =>
      name.startsWith('GET') && attributes['url.path'] !== undefined && attributes['url.full'] === undefined,
  );
  expect(served.map(({ attributes }) => attributes['url.path']).sort()).toEqual(['/v1/files', '/v1/invitations/*']);
  expect(served.map(({ traceId }) => traceId)).toContain(failed?.traceId);
  expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(['gateway']));
  const text = JSON.stringify(spans);
  expect(text).not.toContain('SECRET');
  expect(text).not.toContain('用户写的话');
});

test('without an endpoint nothing is loaded and nothing is sent', async () => {
  const { spans } = collector;
  const before = spans.length;
  expect(await run({})).toEqual({ code: 0, stderr: '' });
  expect(spans).toHaveLength(before);
});
