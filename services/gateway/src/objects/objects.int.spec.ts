import { type FaultProxy, startFaultProxy } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../app.ts';
import { readGatewayConfig } from '../config.ts';
import { startObjects, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

let objects: Awaited<ReturnType<typeof startObjects>>;
let proxy: FaultProxy;
let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  objects = await startObjects('s3');
  proxy = await startFaultProxy(objects.env.MOLI_S3_ENDPOINT ?? '');
  gateway = await startTestGateway({
    ...objects.env,
    MOLI_S3_ENDPOINT: proxy.url,
    MOLI_S3_ENCRYPTION: 'AES256',
    MOLI_S3_PUBLIC_ENDPOINT: 'https://files.example.org',
  });
  key = gateway.first.key ?? '';
});
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await objects.stop();
});

const tus = (path: string, method: string, headers: Record<string, string>, body?: string) =>
  gateway.ask(path, { method, key, headers: { 'tus-resumable': '1.0.0', ...headers }, ...(body ? { body } : {}) });

describe('a gateway with its objects in S3', () => {
  it('says so, and why it is not ready when the bucket cannot be used', async () => {
    expect((await gateway.ask('/version')).json).toMatchObject({ objectStore: 's3' });
    expect((await gateway.ask('/readyz')).status).toBe(200);
    for (const [code, status, detail] of [
      ['SlowDown', 503, 's3: busy'],
      ['InvalidAccessKeyId', 403, 's3: wrong key'],
      ['AccessDenied', 403, 's3: no access'],
      ['NoSuchBucket', 404, 's3: no bucket'],
    ] as const) {
      const body = `<Error><Code>${code}</Code></Error>`;
      proxy.fault(({ method }) => method === 'GET', { kind: 'answer', status, body });
      const answer = await gateway.ask('/readyz');
      expect(answer.status).toBe(503);
      expect(answer.json.dependencies.objects).toEqual({ ok: false, detail });
      proxy.clear();
    }
    expect((await gateway.ask('/readyz')).status).toBe(200);
  });

  it('serves no links of its own and gives out the public address', async () => {
    expect((await gateway.ask('/objects/ten_1/files/file_1?signature=x')).status).toBe(404);
    const form = new FormData();
    form.set('file', new File(['a,b\n1,2\n'], 'a.csv'));
    const made = await fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${key}` },
    });
    const { id } = (await made.json()) as { id: string };
    const { json } = await gateway.ask(`/v1/files/${id}/token`, { key, body: {} });
    expect(new URL(json.url).origin).toBe('https://files.example.org');
    expect((await gateway.ask(`/v1/files/${id}/content`, { key })).text).toBe('a,b\n1,2\n');
  });

  it('answers 503 with words for an administrator while the store is away', async () => {
    const form = new FormData();
    form.set('file', new File(['a,b\n1,2\n'], 'away.csv'));
    proxy.fault(({ method }) => method === 'PUT', { kind: 'answer', status: 500 }, 100);
    const refused = await fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${key}`, 'accept-language': 'en' },
    });
    proxy.clear();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      code: 'unavailable',
      detail: expect.stringContaining('The object store'),
    });
  });

  it('encrypts what uploads leave in the bucket too', async () => {
    const name = Buffer.from('sealed.csv').toString('base64');
    const created = await tus('/api/upload', 'POST', { 'upload-length': '8', 'upload-metadata': `filename ${name}` });
    const path = new URL(created.headers.get('location') ?? '', gateway.url).pathname;
    const patch = (offset: number, body: string) =>
      tus(path, 'PATCH', { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' }, body);
    expect((await patch(0, 'a,b')).status).toBe(204);
    expect((await patch(3, '\n1,2\n')).status).toBe(204);
    const writes = proxy.seen.filter(
      ({ method, url }) =>
        url.includes('/unfinished/') && !url.includes('uploadId') && (method === 'PUT' || method === 'POST'),
    );
    expect(writes.length).toBeGreaterThanOrEqual(3);
    for (const { headers } of writes) expect(headers['x-amz-server-side-encryption']).toBe('AES256');
  });
});

describe('a start is refused, in both languages and with the name of the setting', () => {
  const from = (more: Record<string, string>) =>
    readGatewayConfig({
      MOLI_DATABASE_URL: gateway.database.appUrl,
      MOLI_DATABASE_LOG_URL: gateway.database.logUrl,
      MOLI_DATABASE_AUTH_URL: gateway.database.authUrl,
      MOLI_REDIS_URL: gateway.redis.url,
      MOLI_SECRET: '5'.repeat(64),
      ...objects.env,
      ...more,
    });

  it.each([
    ['an unset key', { MOLI_S3_SECRET_KEY: '' }, 'MOLI_S3_SECRET_KEY'],
    ['an endpoint with a path', { MOLI_S3_ENDPOINT: 'http://s3.example.org/bucket' }, 'MOLI_S3_ENDPOINT'],
    ['an impossible bucket', { MOLI_S3_BUCKET: 'My_Bucket' }, 'MOLI_S3_BUCKET'],
    ['an unknown encryption', { MOLI_S3_ENCRYPTION: 'rot13' }, 'MOLI_S3_ENCRYPTION'],
    ['the address of the workbench', { MOLI_S3_PUBLIC_ENDPOINT: 'http://localhost:8000' }, 'MOLI_S3_PUBLIC_ENDPOINT'],
  ])('for %s', (_what, more, variable) => {
    expect(() => from(more)).toThrow(
      expect.objectContaining({
        variables: [variable],
        detail: { zh: expect.stringContaining(variable), en: expect.stringContaining(variable) },
      }),
    );
  });

  it.each([
    ['a wrong key', { MOLI_S3_ACCESS_KEY: 'nobody' }, 'MOLI_S3_ACCESS_KEY'],
    ['no server there', { MOLI_S3_ENDPOINT: 'http://127.0.0.1:1' }, 'MOLI_S3_ENDPOINT'],
    ['a CA that is none', { MOLI_S3_CA_FILE: '/etc/hostname' }, 'MOLI_S3_CA_FILE'],
  ])('for %s', async (_what, more, variable) => {
    await expect(createApp(from(more))).rejects.toMatchObject({
      detail: { zh: expect.stringContaining(variable), en: expect.stringContaining(variable) },
    });
  });
});
