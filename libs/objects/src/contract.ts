import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { AppError } from '@moli/errors';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectStore, SignedPut } from './object-store.ts';

/** A store under test. Its links must be reachable by `fetch` from this process. */
export interface StoreUnderTest {
  readonly store: ObjectStore;
  /** Changes one byte of a stored object behind the store's back; absent where the test cannot reach the disk. */
  readonly corrupt?: (key: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

/** What every `ObjectStore` must do. Each test works below its own prefix, so a shared bucket is fine. */
export function objectStoreContract(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(`object store contract: ${name}`, () => {
    let under: StoreUnderTest;
    let at: (rest: string) => string;
    const store = () => under.store;
    beforeAll(async () => {
      under = await makeStore();
    });
    beforeEach(() => {
      const prefix = `t${randomBytes(8).toString('hex')}`;
      at = (rest) => `${prefix}/${rest}`;
    });
    afterAll(() => under?.close());

    describe('put and get', () =>
      putAndGet(
        store,
        (rest) => at(rest),
        () => under,
      ));
    describe('list and delete', () => listAndDelete(store, (rest) => at(rest)));
    describe('signed links', () => signedLinks(store, (rest) => at(rest)));
  });
}

function putAndGet(store: () => ObjectStore, at: (rest: string) => string, under: () => StoreUnderTest): void {
  it('gives back the bytes, size and digest of a buffer and of a stream', async () => {
    const data = randomBytes(700_001);
    expect(await store().put(at('a'), data)).toEqual({ key: at('a'), bytes: data.length, sha256: sha256(data) });
    const pieces = [data.subarray(0, 1), data.subarray(1, 500_000), data.subarray(500_000)];
    const expected = { bytes: data.length, sha256: sha256(data) };
    await store().put(at('b'), Readable.from(pieces, { objectMode: false }), expected);
    for (const key of [at('a'), at('b')]) {
      const opened = await store().get(key);
      expect(opened).toMatchObject({ key, ...expected, range: { start: 0, end: data.length - 1 } });
      expect((await buffer(opened.stream)).equals(data)).toBe(true);
      expect(await store().stat(key)).toEqual({ key, ...expected });
    }
  });

  it('keeps an empty object', async () => {
    await store().put(at('empty'), new Uint8Array(), { bytes: 0 });
    expect(await store().stat(at('empty'))).toMatchObject({ bytes: 0, sha256: sha256(new Uint8Array()) });
    expect(await buffer((await store().get(at('empty'))).stream)).toHaveLength(0);
  });

  it('replaces an object whole, and not at all when told so', async () => {
    await store().put(at('k'), Buffer.from('one'));
    await store().put(at('k'), Buffer.from('three'));
    expect((await buffer((await store().get(at('k'))).stream)).toString()).toBe('three');
    await expect(store().put(at('k'), Buffer.from('x'), { ifAbsent: true })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect((await buffer((await store().get(at('k'))).stream)).toString()).toBe('three');
  });

  it.each([
    ['short', { bytes: 6 }],
    ['long', { bytes: 4 }],
    ['altered', { sha256: sha256(Buffer.from('other')) }],
  ])('never shows a body that is %s', async (_kind, expected) => {
    const bodies = [
      Buffer.from('bytes'),
      Readable.from([Buffer.from('by'), Buffer.from('tes')], { objectMode: false }),
    ];
    for (const body of bodies) {
      await expect(store().put(at('k'), body, expected)).rejects.toMatchObject({ code: 'checksum_mismatch' });
      expect(await store().stat(at('k'))).toBeNull();
    }
  });

  it('keeps the old object when its replacement breaks off', async () => {
    await store().put(at('k'), Buffer.from('old'));
    const breaking = Readable.from(
      (async function* () {
        yield Buffer.from('new ');
        throw new Error('the sender went away');
      })(),
      { objectMode: false },
    );
    await expect(store().put(at('k'), breaking)).rejects.toThrow();
    expect((await buffer((await store().get(at('k'))).stream)).toString()).toBe('old');
  });

  it('lets one of several writers win where the key must be free', async () => {
    const writers = Array.from({ length: 8 }, (_, n) =>
      store().put(at('k'), Buffer.from(`writer ${n}`), { ifAbsent: true }),
    );
    const results = await Promise.allSettled(writers);
    const winners = results.flatMap((result, n) => (result.status === 'fulfilled' ? [n] : []));
    expect(winners).toHaveLength(1);
    expect((await buffer((await store().get(at('k'))).stream)).toString()).toBe(`writer ${winners[0]}`);
  });

  it('reads ranges', async () => {
    const data = randomBytes(600_000);
    await store().put(at('k'), data);
    const ranges = [{ start: 0, end: 0 }, { start: 262_143, end: 262_145 }, { start: 599_999 }, { start: 5, end: 9e9 }];
    for (const range of ranges) {
      const opened = await store().get(at('k'), range);
      const end = Math.min(range.end ?? 599_999, 599_999);
      expect(opened.range).toEqual({ start: range.start, end });
      expect((await buffer(opened.stream)).equals(data.subarray(range.start, end + 1))).toBe(true);
    }
    for (const range of [{ start: 600_000 }, { start: -1 }, { start: 4, end: 3 }]) {
      const refused = { code: 'range_not_satisfiable', fields: { bytes: 600_000 } };
      await expect(store().get(at('k'), range)).rejects.toMatchObject(refused);
    }
  });

  it('says that it can be used', async () => {
    await expect(store().check()).resolves.toBeUndefined();
  });

  it('keeps content of many pieces, and lets a reader go in the middle of it', async () => {
    const data = randomBytes(9_000_000);
    const pieces = Array.from({ length: 90 }, (_, n) => data.subarray(n * 100_000, (n + 1) * 100_000));
    await store().put(at('k'), Readable.from(pieces, { objectMode: false }), { sha256: sha256(data) });
    const left = await store().get(at('k'));
    for await (const piece of left.stream) {
      expect((piece as Buffer).length).toBeGreaterThan(0);
      break;
    }
    (await store().get(at('k'))).stream.destroy();
    expect((await buffer((await store().get(at('k'))).stream)).equals(data)).toBe(true);
  });

  it('says what is not there', async () => {
    const refusal = await store()
      .get(at('none'))
      .catch((error: AppError) => error);
    expect(refusal).toMatchObject({ code: 'not_found', cause: { message: expect.stringContaining(at('none')) } });
    // Keys name tenants and runs: they are for the log, not for who asked.
    expect(JSON.stringify((refusal as AppError).detail)).not.toContain('none');
    expect(await store().stat(at('none'))).toBeNull();
  });

  it('never ends an altered object cleanly', async (context) => {
    const { corrupt } = under();
    if (!corrupt) return context.skip();
    const data = randomBytes(600_000);
    await store().put(at('k'), data);
    await corrupt(at('k'));
    const read = store()
      .get(at('k'))
      .then((opened) => buffer(opened.stream));
    await expect(read).rejects.toMatchObject({ code: 'checksum_mismatch' });
  });

  it('refuses unsafe keys instead of cleaning them', async () => {
    const long = 'k'.repeat(513);
    const unsafe = [
      '',
      '/a',
      'a/',
      'a//b',
      '..',
      '../a',
      'a/../b',
      'a/./b',
      '.a',
      'a/.b',
      'a.',
      'a b',
      'a\\b',
      'a\0b',
      'é',
      '名',
      '-a',
      long,
    ];
    for (const key of unsafe) {
      const refused = { code: 'bad_request' };
      await expect(store().put(key, Buffer.from('x'))).rejects.toMatchObject(refused);
      await expect(store().get(key)).rejects.toMatchObject(refused);
      await expect(store().stat(key)).rejects.toMatchObject(refused);
      await expect(store().delete(key)).rejects.toMatchObject(refused);
      await expect(store().signGet(key, { expiresInSeconds: 60 })).rejects.toMatchObject(refused);
    }
  });
}

function listAndDelete(store: () => ObjectStore, at: (rest: string) => string): void {
  const fill = (keys: readonly string[]) => Promise.all(keys.map((key) => store().put(at(key), Buffer.from(key))));

  it('lists what is below a prefix, a page in key order, each object on one page', async () => {
    const keys = ['a/b', 'a-b', 'a.b', 'a0', 'b/1', 'b/10', 'b/2', 'b/c/d/e', 'b-c/1', 'B/1'];
    await fill(keys);
    const wanted = keys.map(at).sort();
    const all = await store().list(at(''));
    expect(all).toEqual({ items: wanted.map((key) => ({ key, bytes: key.length - at('').length })), next: null });
    const paged: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await store().list(at(''), { limit: 3, ...(after === undefined ? {} : { after }) });
      expect(page.items.length).toBeLessThanOrEqual(3);
      paged.push(...page.items.map((item) => item.key));
      if (page.next === null) break;
      after = page.next;
    }
    expect(paged.sort()).toEqual(wanted);
    expect((await store().list(at('b/'))).items.map((item) => item.key)).toEqual(
      ['b/1', 'b/10', 'b/2', 'b/c/d/e'].map(at),
    );
    expect(await store().list(at('none/'))).toEqual({ items: [], next: null });
  });

  it('deletes one object and nothing beside it, and what is gone is success', async () => {
    await fill(['x/1', 'x/2']);
    await store().delete(at('x/1'));
    await store().delete(at('x/1'));
    expect((await store().list(at(''))).items.map((item) => item.key)).toEqual([at('x/2')]);
    await store().delete(at('x/2'));
    expect((await store().list(at(''))).items).toEqual([]);
  });

  it('deletes below a prefix and counts, without touching names that only start like it', async () => {
    await fill(['ses_1/a', 'ses_1/b/c', 'ses_10/a', 'ses_1-a']);
    expect(await store().deletePrefix(at('ses_1/'))).toBe(2);
    expect(await store().deletePrefix(at('ses_1/'))).toBe(0);
    expect((await store().list(at(''))).items.map((item) => item.key)).toEqual([at('ses_1-a'), at('ses_10/a')]);
  });

  it('refuses prefixes that are no folder of keys', async () => {
    for (const prefix of ['a', '/', '../', 'a//', './']) {
      await expect(store().list(prefix)).rejects.toMatchObject({ code: 'bad_request' });
      await expect(store().deletePrefix(prefix)).rejects.toMatchObject({ code: 'bad_request' });
    }
    await expect(store().deletePrefix('')).rejects.toMatchObject({ code: 'bad_request' });
  });
}

function signedLinks(store: () => ObjectStore, at: (rest: string) => string): void {
  const data = Buffer.from('日期,金额\n2026-01-01,100\n');
  const upload = (link: SignedPut, body: Uint8Array = data, headers: Record<string, string> = {}) =>
    fetch(link.url, { method: 'PUT', body: Buffer.from(body), headers: { ...link.headers, ...headers } });
  const putLink = (key: string, expiresInSeconds = 60) =>
    store().signPut(at(key), { bytes: data.length, sha256: sha256(data), contentType: 'text/csv', expiresInSeconds });
  /** Every link that differs from a good one in one character of its query. */
  const tampered = (url: string) => {
    const start = url.indexOf('?') + 1;
    return [...url].flatMap((character, n) => {
      if (n < start || !/[0-9a-z]/i.test(character)) return [];
      return [url.slice(0, n) + (character === '1' ? '2' : '1') + url.slice(n + 1)];
    });
  };

  it('read one object, in whole and in part, under a name', async () => {
    await store().put(at('k'), data);
    const options = { expiresInSeconds: 60, downloadName: '销售 "数据".csv', contentType: 'text/csv' };
    const { url, expiresAt } = await store().signGet(at('k'), options);
    expect(Math.abs(expiresAt.getTime() - Date.now() - 60_000)).toBeLessThan(5000);
    const whole = await fetch(url);
    expect(whole.status).toBe(200);
    expect(whole.headers.get('content-type')).toBe('text/csv');
    const disposition = whole.headers.get('content-disposition')!;
    expect(decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(disposition)![1]!)).toBe('销售 "数据".csv');
    expect(Buffer.from(await whole.arrayBuffer()).equals(data)).toBe(true);
    const part = await fetch(url, { headers: { range: 'bytes=-3' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([
      206,
      `bytes ${data.length - 3}-${data.length - 1}/${data.length}`,
    ]);
    expect(await part.text()).toBe('00\n');
    expect((await fetch(url, { headers: { range: `bytes=${data.length}-` } })).status).toBe(416);
  });

  it('refuse reading when changed, for another key, and when expired', async () => {
    await store().put(at('k1'), data);
    await store().put(at('k2'), data);
    const { url } = await store().signGet(at('k1'), { expiresInSeconds: 60, contentType: 'text/csv' });
    const bad = [
      ...tampered(url).filter((_, n) => n % 7 === 0),
      url.replace('/k1?', '/k2?'),
      `${url}&x=1`,
      url.slice(0, url.indexOf('?')),
    ];
    // A server may also hang up on a link that it cannot read.
    const isRefused = (link: string) =>
      fetch(link).then(
        ({ status }) => status >= 400,
        () => true,
      );
    for (const link of bad) expect([link, await isRefused(link)]).toEqual([link, true]);
    const brief = await store().signGet(at('k1'), { expiresInSeconds: 1 });
    await expect.poll(async () => (await fetch(brief.url)).status, { timeout: 10_000 }).toBe(403);
  });

  it('allow their own method alone', async () => {
    await store().put(at('k'), data);
    const read = await store().signGet(at('k'), { expiresInSeconds: 60 });
    for (const method of ['PUT', 'POST', 'DELETE']) {
      expect(
        (await fetch(read.url, { method, ...(method === 'DELETE' ? {} : { body: 'x' }) })).status,
      ).toBeGreaterThanOrEqual(400);
    }
    expect(await store().stat(at('k'))).toMatchObject({ sha256: sha256(data) });
    const write = await putLink('new');
    for (const method of ['GET', 'DELETE'])
      expect((await fetch(write.url, { method })).status).toBeGreaterThanOrEqual(400);
    expect(await store().stat(at('new'))).toBeNull();
  });

  it('write exactly the announced content, once', async () => {
    const link = await putLink('k');
    const other = Buffer.from(data);
    other[0]! ^= 1;
    for (const body of [other, data.subarray(1), Buffer.concat([data, data])]) {
      expect((await upload(link, body)).ok).toBe(false);
      expect(await store().stat(at('k'))).toBeNull();
    }
    expect((await upload(link, data, { 'content-type': 'text/html' })).ok).toBe(false);
    expect(
      (await fetch(link.url.replace('/k?', '/k2?'), { method: 'PUT', body: data, headers: link.headers })).ok,
    ).toBe(false);
    expect((await upload(link)).status).toBe(200);
    expect((await upload(link)).ok).toBe(false);
    expect(await store().stat(at('k'))).toEqual({ key: at('k'), bytes: data.length, sha256: sha256(data) });
    expect((await store().list(at(''))).items).toHaveLength(1);
  });

  it('let one of eight uploads at once win', async () => {
    const link = await putLink('k');
    const answers = await Promise.all(Array.from({ length: 8 }, () => upload(link)));
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(await store().stat(at('k'))).toMatchObject({ sha256: sha256(data) });
  });

  it('refuse writing when changed and when expired', async () => {
    const link = await putLink('k');
    for (const url of tampered(link.url).filter((_, n) => n % 7 === 0)) {
      const { ok } = await upload({ ...link, url }).catch(() => ({ ok: false }));
      expect([url, ok]).toEqual([url, false]);
    }
    const brief = await putLink('late', 1);
    await expect.poll(() => Date.now() > brief.expiresAt.getTime() + 50, { timeout: 10_000 }).toBe(true);
    expect((await upload(brief)).status).toBe(403);
    expect((await store().list(at(''))).items).toEqual([]);
  });
}
