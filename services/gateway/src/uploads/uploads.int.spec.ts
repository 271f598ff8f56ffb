import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { filesWorld, MIB, sha256 } from '../files/files.fixture.ts';
import { type Answer, OBJECT_STORES, type TestGateway, type TestTenant } from '../gateway.fixture.ts';
import { UploadsService } from './uploads.service.ts';

let gateway: TestGateway;
let key: string;
let other: TestTenant;

/** CSV of about so many bytes whose lines differ, so that a mixed-up piece would be noticed. */
function csv(bytes: number): Buffer {
  const rows = Math.ceil(bytes / 12);
  return Buffer.from(`no,value\n${Array.from({ length: rows }, (_, n) => `${n},${n % 97}`).join('\n')}\n`);
}

const metadata = (entries: Record<string, string>): string =>
  Object.entries(entries)
    .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
    .join(',');

function tus(
  path: string,
  method: string,
  headers: Record<string, string> = {},
  body?: Uint8Array,
  withKey = key,
): Promise<Answer> {
  return gateway.ask(path, {
    method,
    key: withKey,
    headers: { 'tus-resumable': '1.0.0', ...headers },
    ...(body ? { body } : {}),
  });
}

function create(bytes: number, entries: Record<string, string>, withKey = key): Promise<Answer> {
  return tus(
    '/api/upload',
    'POST',
    { 'upload-length': String(bytes), 'upload-metadata': metadata(entries) },
    undefined,
    withKey,
  );
}

function patch(path: string, offset: number, body: Uint8Array, withKey = key): Promise<Answer> {
  return tus(
    path,
    'PATCH',
    { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
    body,
    withKey,
  );
}

const pathOf = (answer: Answer): string => new URL(answer.headers.get('location') ?? '', gateway.url).pathname;
const fileOf = async (answer: Answer) =>
  (await gateway.ask(`/v1/files/${answer.headers.get('moli-file-id')}`, { key })).json;

/** Sends the head of a PATCH and a part of its body, then tears the connection down. */
function cutOff(path: string, whole: Uint8Array, send: number): Promise<void> {
  return new Promise((resolve) => {
    const request = httpRequest(`${gateway.url}${path}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${key}`,
        'tus-resumable': '1.0.0',
        'upload-offset': '0',
        'content-type': 'application/offset+octet-stream',
        'content-length': String(whole.length),
      },
    });
    request.on('error', () => resolve());
    request.write(whole.subarray(0, send), () => request.destroy());
  });
}

describe.each(OBJECT_STORES)('with objects in a %s', (kind) => {
  beforeAll(async () => {
    const world = await filesWorld(kind);
    ({ gateway, key, other } = world);
    return world.close;
  });

  describe('a resumable upload', () => {
    it('is announced with its extensions and the most it takes', async () => {
      const { status, headers } = await gateway.ask('/api/upload', { method: 'OPTIONS', key });
      expect(status).toBe(204);
      expect(headers.get('tus-version')).toBe('1.0.0');
      expect(headers.get('tus-max-size')).toBe(String(50 * MIB));
      expect(headers.get('tus-extension')?.split(',').sort()).toEqual([
        'creation',
        'creation-with-upload',
        'expiration',
        'termination',
      ]);
    });

    it('in pieces becomes one file whose hash is the source', async () => {
      const content = csv(3 * MIB);
      const created = await create(content.length, { filename: 'pieces.csv', sha256: sha256(content) });
      expect(created.status).toBe(201);
      const path = pathOf(created);
      let last = created;
      for (let at = 0; at < content.length; at += MIB) last = await patch(path, at, content.subarray(at, at + MIB));
      expect(last.status).toBe(204);
      expect(await fileOf(last)).toMatchObject({ name: 'pieces.csv', bytes: content.length, sha256: sha256(content) });
    });

    it('goes on where a cut connection left it', async () => {
      const content = csv(10 * MIB);
      const path = pathOf(await create(content.length, { filename: 'cut.csv' }));
      await cutOff(path, content, 3 * MIB);
      await expect
        .poll(async () => Number((await tus(path, 'HEAD')).headers.get('upload-offset')), { timeout: 10_000 })
        .toBeGreaterThanOrEqual(MIB);
      const offset = Number((await tus(path, 'HEAD')).headers.get('upload-offset'));
      expect(offset).toBeLessThanOrEqual(3 * MIB);
      const done = await patch(path, offset, content.subarray(offset));
      expect((await fileOf(done)).sha256).toBe(sha256(content));
    }, 30_000);

    it('takes one of two pieces sent for the same place', async () => {
      const [a, b] = [Buffer.alloc(MIB, 'a'), Buffer.alloc(MIB, 'b')];
      const path = pathOf(await create(MIB + 4, { filename: 'two.txt' }));
      const answers = await Promise.all([patch(path, 0, a), patch(path, 0, b)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
      const done = await patch(path, MIB, Buffer.from('\nend'));
      const tail = Buffer.from('\nend');
      expect([sha256(Buffer.concat([a, tail])), sha256(Buffer.concat([b, tail]))]).toContain(
        (await fileOf(done)).sha256,
      );
    }, 30_000);

    it('that is finished twice is one file, and its id is still to be had', async () => {
      const content = csv(1000);
      const path = pathOf(await create(content.length, { filename: 'twice.csv' }));
      const first = await patch(path, 0, content);
      const again = await patch(path, content.length, new Uint8Array());
      expect(again.headers.get('moli-file-id')).toBe(first.headers.get('moli-file-id'));
      expect((await tus(path, 'HEAD')).headers.get('moli-file-id')).toBe(first.headers.get('moli-file-id'));
    });

    it('goes on at another gateway that shares the bucket, and only one writes at a time', async () => {
      if (kind === 'folder') return;
      const replica = await gateway.newReplica();
      try {
        const content = csv(20 * MIB);
        const created = await create(content.length, { filename: 'both.csv', sha256: sha256(content) });
        const path = pathOf(created);
        const piece = (url: string, offset: number, end: number) =>
          fetch(`${url}${path}`, {
            method: 'PATCH',
            headers: {
              authorization: `Bearer ${key}`,
              'tus-resumable': '1.0.0',
              'upload-offset': String(offset),
              'content-type': 'application/offset+octet-stream',
            },
            body: content.subarray(offset, end),
          });
        expect((await piece(gateway.url, 0, 3 * MIB)).status).toBe(204);
        expect((await piece(replica.url, 3 * MIB, 12 * MIB)).status).toBe(204);
        const at = Number((await tus(path, 'HEAD')).headers.get('upload-offset'));
        expect(at).toBe(12 * MIB);
        const both = await Promise.all([gateway.url, replica.url].map((url) => piece(url, at, content.length)));
        expect(both.map(({ status }) => status).sort()).toEqual([204, 409]);
        const done = both.find(({ status }) => status === 204);
        const file = await gateway.ask(`/v1/files/${done?.headers.get('moli-file-id')}`, { key });
        expect(file.json).toMatchObject({ bytes: content.length, sha256: sha256(content) });
        const bytes = await fetch(`${replica.url}/v1/files/${file.json.id}/content`, {
          headers: { authorization: `Bearer ${key}` },
        });
        expect(sha256(Buffer.from(await bytes.arrayBuffer()))).toBe(sha256(content));
        // What one of them removes is gone for the other too.
        const gone = pathOf(await create(100, { filename: 'gone.csv' }));
        await tus(gone, 'HEAD');
        const headers = { 'tus-resumable': '1.0.0' };
        expect((await replica.ask(gone, { method: 'DELETE', key, headers })).status).toBe(204);
        expect((await tus(gone, 'HEAD')).status).toBe(404);
      } finally {
        await replica.close();
      }
    }, 60_000);

    it('can be given up', async () => {
      const path = pathOf(await create(100, { filename: 'gone.csv' }));
      expect((await tus(path, 'DELETE')).status).toBe(204);
      expect((await tus(path, 'HEAD')).status).toBe(404);
    });

    it('does not exist for anybody else', async () => {
      const content = csv(500);
      const path = pathOf(await create(content.length, { filename: 'mine.csv' }));
      const foreign = other.keys.owner;
      expect((await tus(path, 'HEAD', {}, undefined, foreign)).status).toBe(404);
      expect((await patch(path, 0, content, foreign)).json.code).toBe('not_found');
      expect((await tus(path, 'DELETE', {}, undefined, foreign)).status).toBe(404);
      expect((await patch(path, 0, content)).status).toBe(204);
    });

    it('is swept when it is old, finished or not', async () => {
      const path = pathOf(await create(100, { filename: 'old.csv' }));
      const uploads = gateway.app.get(UploadsService);
      expect(await uploads.sweep(Date.now() + 2 * 86_400_000)).toBeGreaterThan(0);
      expect((await tus(path, 'HEAD')).status).toBe(404);
    });
  });

  describe('what is refused before a byte is sent', () => {
    it.each([
      ['too large', 50 * MIB + 1, { filename: 'big.csv' }, 413, 'file_too_large'],
      ['a program', 10, { filename: 'setup.exe' }, 415, 'unsupported_type'],
      ['empty', 0, { filename: 'empty.csv' }, 422, 'empty_file'],
      ['a dangerous name', 10, { filename: '../../etc/passwd' }, 422, 'invalid_name'],
      ['no name', 10, { note: 'x' }, 422, 'invalid_name'],
      ['a strange digest', 10, { filename: 'a.csv', sha256: 'XYZ' }, 400, 'bad_request'],
      ['an absent session', 10, { filename: 'a.csv', sessionId: `ses_${'0'.repeat(32)}` }, 404, 'not_found'],
    ] as const)('%s', async (_what, bytes, entries, status, code) => {
      const refused = await create(bytes, entries as Record<string, string>);
      expect(refused.json).toMatchObject({ code, detail: expect.any(String) });
      expect(refused.status).toBe(status);
      expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    });

    it('a request outside of the protocol, with the same error shape', async () => {
      const noVersion = await gateway.ask('/api/upload', { method: 'POST', key, headers: { 'upload-length': '10' } });
      expect(noVersion.json.code).toBe('bad_request');
      expect((await gateway.ask(`/api/upload/upl_${'0'.repeat(32)}`, { key })).status).toBe(404);
    });
  });

  describe('what is refused on the server, by content', () => {
    it('a picture that is called CSV', async () => {
      const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), randomBytes(200)]);
      const path = pathOf(await create(png.length, { filename: 'picture.csv' }));
      const refused = await patch(path, 0, png);
      expect(refused.status).toBe(415);
      expect(refused.json.code).toBe('unsupported_type');
      expect((await tus(path, 'HEAD')).status).toBe(404);
    });

    it('content that is not what its digest says', async () => {
      const content = csv(500);
      const path = pathOf(await create(content.length, { filename: 'other.csv', sha256: 'a'.repeat(64) }));
      const refused = await patch(path, 0, content);
      expect(refused.json.code).toBe('checksum_mismatch');
      expect((await tus(path, 'HEAD')).status).toBe(404);
    });
  });
});
