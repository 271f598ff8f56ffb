import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { newSession } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

const api = Stack.shared().api();
const MIB = 1024 * 1024;

interface Problem {
  status: number;
  code: string;
  detail: string;
  title: string;
  type: string;
  traceId: string;
  [field: string]: unknown;
}

/** The problem of a refused request; everything that is refused has this one shape. */
async function problem(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const body = (await response.json()) as Problem;
  expect(body.status).toBe(response.status);
  expect(body.detail.length).toBeGreaterThan(10);
  expect(body.detail).not.toContain('[object');
  expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:\d+/);
  return body;
}

function upload(name: string, content: Buffer, sessionId?: string): Promise<Response> {
  const form = new FormData();
  if (sessionId) form.set('sessionId', sessionId);
  form.set('file', new Blob([new Uint8Array(content)]), name);
  return api.request('/v1/files', { method: 'POST', body: form });
}

function createUpload(name: string, bytes: number): Promise<Response> {
  const metadata = `filename ${Buffer.from(name).toString('base64')}`;
  return api.request('/api/upload', {
    method: 'POST',
    headers: { 'tus-resumable': '1.0.0', 'upload-length': String(bytes), 'upload-metadata': metadata },
  });
}

test('50 MiB pass, one byte more is refused before a byte is sent, and by the form as well', async () => {
  expect((await createUpload('big.csv', 50 * MIB)).status).toBe(201);
  const refused = await problem(await createUpload('big.csv', 50 * MIB + 1));
  expect(refused).toMatchObject({ status: 413, code: 'file_too_large' });
  for (const _ of [1, 2]) {
    expect(await problem(await upload('big.csv', Buffer.alloc(50 * MIB + 1, 'a')))).toMatchObject({
      status: 413,
      code: 'file_too_large',
    });
  }
});

test.each([
  ['program.exe', 'MZ', 415, 'unsupported_type'],
  ['no-extension', 'a,b\n', 415, 'unsupported_type'],
  ['picture.csv', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 415, 'unsupported_type'],
  ['empty.csv', '', 422, 'empty_file'],
  ['../up.csv', 'a\n', 422, 'invalid_name'],
  ['a/b.csv', 'a\n', 422, 'invalid_name'],
  ['bell\u0007.csv', 'a\n', 422, 'invalid_name'],
  ['fdp\u202evsc.csv', 'a\n', 422, 'invalid_name'],
  [`${'n'.repeat(300)}.csv`, 'a\n', 422, 'invalid_name'],
])('a file named %j is refused: %s', async (name, content, status, code) => {
  expect(
    await problem(
      await createUpload(name, Math.max(1, content.length)).then((r) =>
        r.status === 201 ? upload(name, Buffer.from(content, 'latin1')) : r,
      ),
    ),
  ).toMatchObject({ status, code });
});

test('a refusal by kind names the kinds that are accepted', async () => {
  const refused = await problem(await createUpload('program.exe', 2));
  expect(JSON.stringify(refused)).toMatch(/csv/i);
  expect(JSON.stringify(refused)).toMatch(/xlsx/i);
});

test('bodies: broken, of wrong types, with unknown fields, too deep', async () => {
  const post = (body: string, type = 'application/json') =>
    api.request('/v1/sessions', { method: 'POST', headers: { 'content-type': type }, body });
  expect(await problem(await post('{"title": '))).toMatchObject({ status: 400, code: 'bad_request' });
  expect(JSON.stringify(await problem(await post('{"title": 7}')))).toContain('title');
  expect(JSON.stringify(await problem(await post('{"tilte": "x"}')))).toContain('tilte');
  expect((await problem(await post(`{"title":${'['.repeat(20_000)}${']'.repeat(20_000)}}`))).status).toBeLessThan(500);
  expect([400, 415]).toContain((await problem(await post('title=x', 'text/plain'))).status);
  expect(await problem(await post('<x/>', 'application/xml'))).toMatchObject({ status: 415 });
});

test('a body of 10 MB is refused by its size, before it is read', async () => {
  const { hostname, port } = new URL(api.origin);
  const socket = connect(Number(port), hostname);
  // A client that goes on sending may lose the answer: this one stops to read it.
  socket.write(
    `POST /v1/sessions HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${Stack.shared().place.key}\r\ncontent-type: application/json\r\ncontent-length: ${10 * MIB}\r\n\r\n{"title":"`,
  );
  let answer = '';
  for await (const chunk of socket) {
    answer += chunk;
    if (answer.includes('"code"')) break;
  }
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(answer).toContain('"code":"body_too_large"');
});

test('ids that are none, routes that are none, and addresses that cannot be decoded have the same shape', async () => {
  for (const path of [
    '/v1/sessions/nope',
    `/v1/sessions/ses_${'0'.repeat(32)}`,
    '/v1/nope',
    '/v1/files/..%2f..%2fetc',
    '/%ff',
  ]) {
    const refused = await problem(await api.request(path, { headers: { accept: 'application/json' } }));
    expect([400, 404]).toContain(refused.status);
  }
});

test('without credentials, with a wrong key, and with a key in the URL: 401', async () => {
  const { origin } = api;
  expect(await problem(await fetch(`${origin}/v1/sessions`))).toMatchObject({ status: 401, code: 'unauthenticated' });
  expect(
    await problem(await fetch(`${origin}/v1/sessions`, { headers: { authorization: 'Bearer moli_wrong' } })),
  ).toMatchObject({ status: 401 });
  expect((await fetch(`${origin}/v1/sessions?key=${encodeURIComponent(Stack.shared().place.key)}`)).status).toBe(401);
});

test('the language of a refusal is the one asked for', async () => {
  const { detail } = await problem(
    await api.request('/v1/sessions/nope', { headers: { 'accept-language': 'zh-CN,zh;q=0.9' } }),
  );
  expect(detail).toMatch(/[\u4e00-\u9fff]/);
});

test('an altered, an expired and a foreign signed link are refused alike', async () => {
  const sessionId = await newSession(api);
  const { id } = (await (await upload('linked.csv', Buffer.from('a\n1\n'), sessionId)).json()) as { id: string };
  const link = await api.call<{ url: string }>('POST', `/v1/files/${id}/token`, { expiresInSeconds: 5 });
  const url = new URL(link.url, api.origin);
  expect(await (await fetch(url)).text()).toBe('a\n1\n');
  const altered = new URL(url);
  for (const [name, value] of altered.searchParams)
    if (/sig|token/i.test(name))
      altered.searchParams.set(name, `${value.slice(0, -2)}${value.endsWith('AA') ? 'BB' : 'AA'}`);
  expect(await problem(await fetch(altered))).toMatchObject({ status: 403, code: 'link_invalid' });
  await expect.poll(async () => (await fetch(url)).status, { timeout: 20_000 }).toBe(403);
  expect(await problem(await fetch(url))).toMatchObject({ code: 'link_invalid' });
});
