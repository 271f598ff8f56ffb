import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectStore } from '@moli/objects';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, OBJECT_STORES, type TestGateway, type TestTenant } from '../gateway.fixture.ts';
import { expectRanges } from '../objects/ranges.fixture.ts';
import { OBJECTS } from '../tokens.ts';
import { filesWorld, MIB, sha256 } from './files.fixture.ts';

const CSV = Buffer.from('日期,销售额\n2026-01-01,100\n2026-01-02,250\n');

let gateway: TestGateway;
let key: string;
let other: TestTenant;

async function newSession(withKey = key): Promise<string> {
  return (await gateway.ask('/v1/sessions', { key: withKey, body: {} })).json.id;
}

/** A multipart body as browsers and curl send it: the name as raw UTF-8. */
async function upload(
  name: string,
  content: Uint8Array,
  fields: Record<string, string> = {},
  withKey = key,
): Promise<Answer> {
  const boundary = 'moli-test-boundary';
  const parts = Object.entries(fields).map(
    ([field, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  );
  const head = `${parts.join('')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: text/csv\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return gateway.ask('/v1/files', {
    method: 'POST',
    key: withKey,
    body,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  });
}

async function objects(): Promise<string[]> {
  const { items } = await gateway.app.get<ObjectStore>(OBJECTS).list('');
  return items.map((item) => item.key).filter((name) => /file_[0-9a-f]{32}/.test(name));
}

const caseFile = (name: string): Promise<Buffer> =>
  readFile(join(import.meta.dirname, '../../../../test/cases/files', name));

describe.each(OBJECT_STORES)('with objects in a %s', (kind) => {
  beforeAll(async () => {
    const world = await filesWorld(kind);
    ({ gateway, key, other } = world);
    return world.close;
  });

  describe('a small file in one request', () => {
    it('is described, kept whole and found in its session alone', async () => {
      const sessionId = await newSession();
      const made = await upload('sales_data.csv', CSV, { sessionId });
      expect(made.status).toBe(201);
      expect(made.json).toMatchObject({
        name: 'sales_data.csv',
        bytes: CSV.length,
        sha256: sha256(CSV),
        sessionId,
        table: {
          encoding: 'utf-8',
          delimiter: ',',
          columns: [
            { name: '日期', type: 'date' },
            { name: '销售额', type: 'integer' },
          ],
          rows: 2,
        },
      });
      const listed = await gateway.ask(`/v1/files?sessionId=${sessionId}`, { key });
      expect(listed.json.items).toEqual([made.json]);
      const elsewhere = await gateway.ask(`/v1/files?sessionId=${await newSession()}`, { key });
      expect(elsewhere.json.items).toEqual([]);
      const content = await gateway.ask(`/v1/files/${made.json.id}/content`, { key });
      expect(content.text).toBe(CSV.toString());
      expect(content.headers.get('x-content-type-options')).toBe('nosniff');
    });

    it('is served in parts', async () => {
      const content = 'day,amount\n2026-01-01,100\n';
      const { json: file } = await upload('parts.csv', Buffer.from(content));
      await expectRanges(gateway, key, `/v1/files/${file.id}/content`, content);
    });

    it('that is gone from the store is absent, and its place there is not told', async () => {
      const { json: file } = await upload('gone.csv', CSV);
      const store = gateway.app.get<ObjectStore>(OBJECTS);
      for (const place of await objects()) if (place.includes(file.id)) await store.delete(place);
      const { json: link } = await gateway.ask(`/v1/files/${file.id}/token`, { key, body: {} });
      const answers = [await gateway.ask(`/v1/files/${file.id}/content`, { key })];
      if (kind === 'folder') answers.push(await gateway.ask(link.url.replace(gateway.config.publicUrl, '')));
      for (const answer of answers) {
        expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
        expect(answer.text).not.toContain('ten_');
      }
    });

    it('keeps its name, code point for code point, and in the ASCII header of a download', async () => {
      for (const name of ['07饺子 餃子.csv', '销售 数据（2026）—终稿.csv', 'ete\u0301.csv']) {
        const { status, json: file } = await upload(name, CSV);
        expect(status).toBe(201);
        expect(file.name).toBe(name.normalize('NFC'));
        const { json: link } = await gateway.ask(`/v1/files/${file.id}/token`, { key, body: {} });
        for (const answer of [
          await gateway.ask(`/v1/files/${file.id}/content`, { key }),
          await gateway.ask(link.url.replace(gateway.config.publicUrl, '')),
        ]) {
          expect(answer.status).toBe(200);
          expect(answer.text).toBe(CSV.toString());
          const header = answer.headers.get('content-disposition') ?? '';
          expect(header).toMatch(/^[\x20-\x7e]+$/);
          expect(decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(header)?.[1] ?? '')).toBe(file.name);
        }
      }
    });

    it('is refused over the limit, each time, and leaves nothing', async () => {
      const before = (await objects()).length;
      for (let time = 0; time < 2; time += 1) {
        const refused = await upload('big.csv', Buffer.alloc(50 * MIB + 1, 'a'));
        expect(refused.status).toBe(413);
        expect(refused.json.code).toBe('file_too_large');
      }
      expect((await objects()).length).toBe(before);
    }, 60_000);

    it('is taken at exactly the limit', async () => {
      const content = Buffer.alloc(50 * MIB, 'a,b\n1,2\n');
      const made = await upload('limit.csv', content);
      expect(made.status).toBe(201);
      expect(made.json.sha256).toBe(sha256(content));
    }, 60_000);

    it.each([
      ['program.exe', Buffer.from('MZ...'), 415, 'unsupported_type'],
      ['picture.csv', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), 415, 'unsupported_type'],
      ['empty.csv', Buffer.alloc(0), 422, 'empty_file'],
      ['../up.csv', CSV, 422, 'invalid_name'],
      ['a\u0007b.csv', CSV, 422, 'invalid_name'],
      ['\u202evsc.csv', CSV, 422, 'invalid_name'],
      [`${'长'.repeat(100)}.csv`, CSV, 422, 'invalid_name'],
    ])('refuses %j with words that help', async (name, content, status, code) => {
      const refused = await upload(name, content);
      expect(refused.json).toMatchObject({ code, detail: expect.any(String) });
      expect(refused.status).toBe(status);
    });

    it('names an unknown field and a missing file', async () => {
      expect((await upload('a.csv', CSV, { colour: 'red' })).json).toMatchObject({
        code: 'bad_request',
        field: 'colour',
      });
      const none = await gateway.ask('/v1/files', { key, body: { file: 'x' } });
      expect(none.json).toMatchObject({ code: 'unsupported_type', status: 415 });
    });

    it('is described as the field would have it', async () => {
      const rare = await upload('gb18030-rare.csv', await caseFile('gb18030-rare.csv'));
      expect(rare.json.table).toMatchObject({ encoding: 'gb18030', rows: 2 });
      const password = await upload('password.xlsx', await caseFile('password.xlsx'));
      expect(JSON.stringify(password.json)).toMatch(/password|密码/);
      expect(password.status).not.toBe(500);
      const ghost = await upload('ghost-range.xlsx', await caseFile('ghost-range.xlsx'));
      expect(ghost.json.table).toMatchObject({ rows: 2 });
    });
  });

  describe('links and tokens', () => {
    it('expire and are bound to one file and to reading', async () => {
      const { json: file } = await upload('linked.csv', CSV);
      const { json: link } = await gateway.ask(`/v1/files/${file.id}/token`, { key, body: { expiresInSeconds: 60 } });
      const path: string = link.url.replace(gateway.config.publicUrl, '');
      expect((await gateway.ask(path)).status).toBe(200);
      for (const bad of [
        path.replace(/([Ee]xpires)=\d+/, '$1=1'),
        path.slice(0, -2),
        path.replace(file.id, `file_${'0'.repeat(32)}`),
      ]) {
        const refused = await gateway.ask(bad);
        expect(refused.status).toBe(403);
        if (kind === 'folder') expect(refused.json.code).toBe('link_invalid');
      }
      const written = await gateway.ask(path, { method: 'PUT', body: 'x' });
      expect(written.status).toBe(403);
      if (kind === 'folder') expect(written.json.code).toBe('link_invalid');
      expect((await gateway.ask(`/v1/files/${file.id}/content`, { key })).text).toBe(CSV.toString());
    });

    it('are refused to others: file, content, token, list and deletion look absent', async () => {
      const sessionId = await newSession();
      const { json: file } = await upload('mine.csv', CSV, { sessionId });
      const foreign = other.keys.owner;
      const absent = await gateway.ask(`/v1/files/file_${'0'.repeat(32)}`, { key: foreign });
      for (const [path, options] of [
        [`/v1/files/${file.id}`, {}],
        [`/v1/files/${file.id}/content`, {}],
        [`/v1/files/${file.id}/token`, { body: {} }],
        [`/v1/files/${file.id}`, { method: 'DELETE' }],
      ] as const) {
        const answer = await gateway.ask(path, { ...options, key: foreign });
        expect(answer.status).toBe(404);
        expect(answer.json.detail).toBe(absent.json.detail);
      }
      expect((await gateway.ask(`/v1/files?sessionId=${sessionId}`, { key: foreign })).status).toBe(404);
      expect((await upload('x.csv', CSV, { sessionId }, foreign)).status).toBe(404);
    });
  });

  describe('deleting', () => {
    it('removes row and object', async () => {
      const before = (await objects()).length;
      const { json: file } = await upload('gone.csv', CSV);
      expect((await objects()).length).toBe(before + 1);
      expect((await gateway.ask(`/v1/files/${file.id}`, { method: 'DELETE', key })).status).toBe(204);
      expect((await objects()).length).toBe(before);
      expect((await gateway.ask(`/v1/files/${file.id}`, { key })).status).toBe(404);
    });

    it('of a session leaves none of its objects', async () => {
      const before = (await objects()).length;
      const sessionId = await newSession();
      for (const name of ['a.csv', 'b.csv', 'c.csv']) await upload(name, CSV, { sessionId });
      expect((await objects()).length).toBe(before + 3);
      expect((await gateway.ask(`/v1/sessions/${sessionId}`, { method: 'DELETE', key })).status).toBe(204);
      expect((await objects()).length).toBe(before);
    });
  });
});
