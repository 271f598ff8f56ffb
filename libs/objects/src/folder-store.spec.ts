import { execFile, spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AppError } from '@moli/errors';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerLink } from './answer-link.ts';
import { objectStoreContract } from './contract.ts';
import { FolderObjectStore } from './folder-store.ts';

const secret = Buffer.alloc(32, 7);

/** The gateway's route in small: links served over real HTTP. */
async function serve(store: () => FolderObjectStore): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    answerLink(store(), { method: request.method!, url: request.url!, headers: request.headers, body: request })
      .then(async (answer) => {
        response.writeHead(answer.status, answer.headers);
        if (answer.body) await pipeline(answer.body, response);
        else response.end();
      })
      .catch((error: unknown) => {
        if (response.headersSent) return response.destroy();
        response.writeHead(error instanceof AppError ? error.status : 500, { connection: 'close' }).end();
      });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function flipByte(path: string, position: number): Promise<void> {
  const handle = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await handle.read(byte, 0, 1, position);
  byte[0]! ^= 1;
  await handle.write(byte, 0, 1, position);
  await handle.close();
}

objectStoreContract('folder', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'objects-'));
  let store: FolderObjectStore;
  const server = await serve(() => store);
  store = new FolderObjectStore({ directory, secret, publicUrl: server.url });
  await store.open();
  return {
    store,
    corrupt: (key) => flipByte(join(directory, key), 300_000),
    close: async () => {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
});

describe('folder store', () => {
  let directory: string;
  let store: FolderObjectStore;
  let now: Date;
  const options = () => ({ directory, secret, publicUrl: 'http://public:8000/', internalUrl: 'http://inside:1' });
  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'objects-')), 'store');
    now = new Date('2026-01-01T00:00:00Z');
    store = new FolderObjectStore({ ...options(), now: () => now });
    await store.open();
  });
  afterEach(() => rm(join(directory, '..'), { recursive: true }));
  const left = async () => (await readdir(join(directory, '.unfinished'))).length;

  it('keeps its files from other users of the machine', async () => {
    await store.put('ten_1/ses_1/file_1', Buffer.from('x'));
    const modes = await Promise.all(
      ['', '.unfinished', 'ten_1', 'ten_1/ses_1', 'ten_1/ses_1/file_1'].map(
        async (path) => (await stat(join(directory, path))).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o700, 0o600]);
  });

  it('refuses a secret that could be guessed', () => {
    expect(() => new FolderObjectStore({ ...options(), secret: Buffer.alloc(16) })).toThrow(/32 bytes/);
  });

  it('leaves no unfinished file and no empty folder behind', async () => {
    await store.put('a/b/c', Buffer.from('x'));
    await expect(store.put('a/b/d', Buffer.from('x'), { bytes: 2 })).rejects.toMatchObject({
      code: 'checksum_mismatch',
    });
    await store.delete('a/b/c');
    expect(await left()).toBe(0);
    expect(await readdir(directory)).toEqual(['.unfinished']);
  });

  it('fails with the error of a body that fails before it is read', async () => {
    await expect(store.put('k', createReadStream(join(directory, 'none')))).rejects.toMatchObject({ code: 'ENOENT' });
    const gone = Readable.from([Buffer.from('x')]);
    gone.destroy(new Error('the sender went away'));
    await expect(store.put('k', gone)).rejects.toThrow(/went away/);
    expect([await left(), await store.stat('k')]).toEqual([0, null]);
  });

  it('refuses a key below an object and an object in place of a folder', async () => {
    await store.put('a/b', Buffer.from('x'));
    await expect(store.put('a/b/c', Buffer.from('y'))).rejects.toMatchObject({ code: 'conflict' });
    await expect(store.put('a', Buffer.from('y'))).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.list('')).toEqual({ items: [{ key: 'a/b', bytes: 1 }], next: null });
  });

  it('survives writers and deleters in the same folder', async () => {
    const work = Array.from({ length: 200 }, async (_, n) => {
      await store.put(`p/q/${n}`, Buffer.from(String(n)));
      if (n % 2) await store.delete(`p/q/${n}`);
    });
    await Promise.all(work);
    expect((await store.list('p/')).items).toHaveLength(100);
  });

  it.each([
    ['first byte', 0],
    ['digest', 1010],
    ['size', 1090],
  ])('finds a change of the %s', async (_what, position) => {
    await store.put('k', Buffer.alloc(1000));
    await flipByte(join(directory, 'k'), position);
    const read = store.get('k').then(({ stream }) => stream.toArray());
    await expect(read).rejects.toMatchObject({ code: 'checksum_mismatch' });
  });

  it('finds a file that was cut or emptied', async () => {
    await store.put('k', Buffer.alloc(1000));
    for (const size of [1090, 500, 0]) {
      const handle = await open(join(directory, 'k'), 'r+');
      await handle.truncate(size);
      await handle.close();
      await expect(store.stat('k')).rejects.toMatchObject({ code: 'checksum_mismatch' });
    }
  });

  it('does not follow links that someone put into the folder', async () => {
    await writeFile(join(directory, '..', 'outside'), 'secret');
    await symlink('../outside', join(directory, 'k'));
    expect(await store.stat('k')).toBeNull();
    expect((await store.list('')).items).toEqual([]);
  });

  it('gives internal links the internal address, with one signature for both', async () => {
    const outside = await store.signGet('k', { expiresInSeconds: 60 });
    const inside = await store.signGet('k', { expiresInSeconds: 60, reach: 'internal' });
    expect(outside.url).toMatch(/^http:\/\/public:8000\/objects\/k\?/);
    expect(inside.url).toBe(outside.url.replace('http://public:8000', 'http://inside:1'));
  });

  it('lets a link end at its moment', async () => {
    const { url } = await store.signGet('k', { expiresInSeconds: 60 });
    now = new Date('2026-01-01T00:00:59.999Z');
    expect(await store.verifyLink('GET', url)).toEqual({ method: 'GET', key: 'k' });
    now = new Date('2026-01-01T00:01:00Z');
    await expect(store.verifyLink('GET', url)).rejects.toMatchObject({ code: 'link_invalid', status: 403 });
    for (const expiresInSeconds of [0, -1, Number.NaN, 8 * 24 * 3600]) {
      await expect(store.signGet('k', { expiresInSeconds })).rejects.toMatchObject({ code: 'bad_request' });
    }
  });

  it('refuses every one-character change, doubled or foreign member and other secret', async () => {
    const { url } = await store.signGet('a/k', { expiresInSeconds: 60, downloadName: '数据&expires=9.csv' });
    const path = url.slice('http://public:8000'.length);
    expect(await store.verifyLink('GET', path)).toEqual({
      method: 'GET',
      key: 'a/k',
      downloadName: '数据&expires=9.csv',
    });
    const changed = [...path]
      .map((c, n) => path.slice(0, n) + (c === 'a' ? 'b' : 'a') + path.slice(n + 1))
      .slice('/objects/'.length);
    const bad = [
      ...changed,
      `${path}&expires=1`,
      `${path}&bytes=1`,
      path.replace('/a/k', '/a/../a/k'),
      path.replace('/a/k', '/a%2Fk'),
      '',
      '/objects/a/k',
    ];
    for (const link of bad) {
      const refusal = store.verifyLink('GET', link).catch((error: AppError) => error.code);
      expect([link, await refusal]).toEqual([link, 'link_invalid']);
    }
    const other = new FolderObjectStore({ ...options(), secret: Buffer.alloc(32, 8), now: () => now });
    await expect(other.verifyLink('GET', path)).rejects.toMatchObject({ code: 'link_invalid' });
    for (const method of ['PUT', 'HEAD', 'DELETE', 'get']) {
      await expect(store.verifyLink(method, path)).rejects.toMatchObject({ code: 'link_invalid' });
    }
  });

  it('goes on with a download only when the content is the one that was begun', async () => {
    const { sha256 } = await store.put('k', Buffer.from('0123456789'));
    const { url } = await store.signGet('k', { expiresInSeconds: 60 });
    const answer = async (ifRange: string) => {
      const request = { method: 'GET', url, headers: { range: 'bytes=7-', 'if-range': ifRange } };
      const { status, headers, body } = await answerLink(store, request);
      return [status, headers.etag, (await body!.toArray()).join('')];
    };
    expect(await answer(`"${sha256}"`)).toEqual([206, `"${sha256}"`, '789']);
    expect(await answer('"another"')).toEqual([200, `"${sha256}"`, '0123456789']);
  });

  it('lets no page of a run act in our origin', async () => {
    await store.put('k', Buffer.from('<script>1</script>'));
    const { url } = await store.signGet('k', { expiresInSeconds: 60, contentType: 'text/html' });
    const { headers, body } = await answerLink(store, { method: 'GET', url, headers: {} });
    body!.destroy();
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining('sandbox'),
    });
    expect(headers['content-disposition']).toMatch(/^attachment/);
    await expect(store.signGet('k', { expiresInSeconds: 60, contentType: 'text/html\r\nx: y' })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('sweeps only what is old', async () => {
    await writeFile(join(directory, '.unfinished', 'old'), 'x');
    await writeFile(join(directory, '.unfinished', 'young'), 'x');
    await utimes(join(directory, '.unfinished', 'old'), now, new Date(now.getTime() - 3_600_001));
    await utimes(join(directory, '.unfinished', 'young'), now, now);
    expect(await store.sweepTemporary(3600)).toBe(1);
    expect(await readdir(join(directory, '.unfinished'))).toEqual(['young']);
  });

  it('shows nothing of a write whose process was killed', async () => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('./testing/endless-put.ts', import.meta.url)), directory],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    await new Promise<void>((ready) => child.stdout.once('data', () => ready()));
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
    expect(await store.stat('half')).toBeNull();
    expect((await store.list('')).items).toEqual([]);
    expect(await left()).toBe(1);
    now = new Date(Date.now() + 60_000);
    expect(await store.sweepTemporary(30)).toBe(1);
  });

  it('moves 256 MiB in and out without holding it', async () => {
    const size = 256 * 1024 * 1024;
    const script = fileURLToPath(new URL('./testing/move-bytes.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script, directory, String(size)]);
    const { bytes, growth } = JSON.parse(stdout) as { bytes: number; growth: number };
    expect(bytes).toBe(size);
    // Node lets some 64 MiB of buffers gather before it collects them, whatever the size.
    expect(growth).toBeLessThan(size / 2);
  }, 120_000);
});
