import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { TestS3 } from '@moli/testing';
import type { LifecycleConfig } from 'minio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectStoreContract } from './contract.ts';
import { clientOf, optionsFor, startServers } from './s3.fixture.ts';
import { S3ObjectStore } from './s3-store.ts';

const MIB = 1024 * 1024;
const servers = await startServers();
afterAll(() => Promise.all(servers.map((server) => server.stop())));

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
const streamOf = (data: Buffer) =>
  Readable.from(
    Array.from({ length: Math.ceil(data.length / 99_991) }, (_, n) => data.subarray(n * 99_991, (n + 1) * 99_991)),
    { objectMode: false },
  );

for (const server of servers) {
  objectStoreContract(`S3 on ${server.name}`, async () => {
    const options = optionsFor(server);
    const store = new S3ObjectStore(options);
    await store.open(2);
    const client = clientOf(server);
    return {
      store,
      // The same headers on other bytes: what a damaged disk or a meddling administrator leaves.
      corrupt: async (key) => {
        const { metaData } = await client.statObject(options.bucket, key);
        const content = await buffer(await client.getObject(options.bucket, key));
        content[300_000]! ^= 1;
        const meta = { 'x-amz-meta-moli-sha256': metaData['moli-sha256'] };
        await client.putObject(options.bucket, key, content, content.length, meta);
      },
      close: async () => {},
    };
  });
}

describe.each(servers.map((server): [string, TestS3] => [server.name, server]))('objects on %s', (_name, server) => {
  const options = optionsFor(server, { publicEndpoint: 'https://files.example.org' });
  const store = new S3ObjectStore(options);
  const client = clientOf(server);
  const unfinished = async () => (await client.listIncompleteUploadsQuery(options.bucket, '', '', '', '')).uploads;
  const large = randomBytes(20 * MIB + 12_345);
  const announced = { bytes: large.length, sha256: sha256(large) };
  beforeAll(() => store.open(2));

  it('of many parts are whole, with and without an announced digest', async () => {
    expect(await store.put('large/known', streamOf(large), announced)).toEqual({ key: 'large/known', ...announced });
    expect(await store.put('large/unknown', streamOf(large))).toEqual({ key: 'large/unknown', ...announced });
    expect(await store.put('large/buffer', large, { ifAbsent: true })).toMatchObject(announced);
    for (const key of ['large/known', 'large/unknown', 'large/buffer']) {
      const opened = await store.get(key);
      expect(opened).toMatchObject(announced);
      expect((await buffer(opened.stream)).equals(large)).toBe(true);
    }
    const across = await store.get('large/known', { start: 8 * MIB - 3, end: 16 * MIB + 3 });
    expect((await buffer(across.stream)).equals(large.subarray(8 * MIB - 3, 16 * MIB + 4))).toBe(true);
    expect(await unfinished()).toEqual([]);
  });

  it('of many parts that are not what was announced leave nothing behind', async () => {
    const other = sha256(Buffer.from('other'));
    for (const expected of [{ bytes: large.length + 1 }, { bytes: large.length - 1 }, { sha256: other }]) {
      await expect(store.put('bad', streamOf(large), expected)).rejects.toMatchObject({ code: 'checksum_mismatch' });
    }
    const breaking = Readable.from(
      (async function* () {
        yield large;
        throw new Error('the sender went away');
      })(),
      { objectMode: false },
    );
    await expect(store.put('bad', breaking, announced)).rejects.toThrow(/went away/);
    expect([await store.stat('bad'), await unfinished()]).toEqual([null, []]);
  });

  it('of many parts give way to one that is there', async () => {
    await store.put('first', Buffer.from('first'));
    await expect(store.put('first', large, { ifAbsent: true })).rejects.toMatchObject({ code: 'conflict' });
    expect(await unfinished()).toEqual([]);
  });

  // SeaweedFS 4.48 looks before it joins the parts and not while it does.
  it.runIf(server.name === 'versitygw')('of many parts, written by two at once, are of one', async () => {
    const write = () => store.put('raced', large, { ...announced, ifAbsent: true });
    const both = await Promise.allSettled([write(), write()]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await store.stat('raced')).toMatchObject(announced);
    expect(await unfinished()).toEqual([]);
  });

  it('that we did not write are refused', async () => {
    await client.putObject(options.bucket, 'foreign', Buffer.from('x'));
    await expect(store.stat('foreign')).rejects.toMatchObject({ code: 'checksum_mismatch' });
    await expect(store.get('foreign')).rejects.toMatchObject({ code: 'checksum_mismatch' });
  });

  it('have links with the address of who is to use them', async () => {
    const outside = await store.signGet('k', { expiresInSeconds: 60 });
    const inside = await store.signGet('k', { expiresInSeconds: 60, reach: 'internal' });
    expect(new URL(outside.url).origin).toBe('https://files.example.org');
    expect(new URL(inside.url).origin).toBe(server.endpoint);
    const put = { bytes: 1, sha256: 'a'.repeat(64), contentType: 'text/csv', expiresInSeconds: 60 };
    expect(new URL((await store.signPut('k', put)).url).origin).toBe('https://files.example.org');
    expect(new URL((await store.signPut('k', { ...put, reach: 'internal' })).url).origin).toBe(server.endpoint);
  });

  it('are never shown as a page by a link', async () => {
    await store.put('page', Buffer.from('<script>1</script>'));
    for (const contentType of ['text/html', 'image/svg+xml', undefined]) {
      const link = await store.signGet('page', {
        expiresInSeconds: 60,
        reach: 'internal',
        ...(contentType ? { contentType } : {}),
      });
      const answer = await fetch(link.url);
      await answer.body?.cancel();
      expect(answer.headers.get('content-disposition')).toMatch(/^attachment/);
      expect(answer.headers.get('content-type')).toBe(contentType ?? 'application/octet-stream');
    }
  });

  it('that were begun and never finished are swept, uploads of people are left alone', async () => {
    await client.initiateNewMultipartUpload(options.bucket, 'crashed', {});
    await client.initiateNewMultipartUpload(options.bucket, 'unfinished/upl_1', {});
    expect(await store.sweepTemporary(3600)).toBe(0);
    expect(await store.sweepTemporary(-60)).toBe(1);
    expect((await unfinished()).map(({ key }) => key)).toEqual(['unfinished/upl_1']);
  });

  it('are deleted by the thousand', async () => {
    const keys = Array.from({ length: 1_050 }, (_, n) => `many/${n}`);
    for (let at = 0; at < keys.length; at += 50)
      await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, Buffer.from('x'))));
    expect(await store.deletePrefix('many/')).toBe(1_050);
    expect((await store.list('many/')).items).toEqual([]);
  });
});

describe('encryption by the server', () => {
  it('is applied to every way of writing, or the start is refused', async () => {
    const sealed = new S3ObjectStore(optionsFor(servers[0]!, { encryption: 'AES256' }));
    await sealed.open(2);
    const small = Buffer.from('日期,金额\n');
    const large = randomBytes(9 * MIB);
    await sealed.put('small', small);
    await sealed.put('large', large);
    const link = await sealed.signPut('linked', {
      bytes: small.length,
      sha256: sha256(small),
      contentType: 'text/csv',
      expiresInSeconds: 60,
    });
    expect((await fetch(link.url, { method: 'PUT', body: small, headers: link.headers })).status).toBe(200);
    for (const [key, data] of [
      ['small', small],
      ['large', large],
      ['linked', small],
    ] as const)
      expect((await buffer((await sealed.get(key)).stream)).equals(data), key).toBe(true);
    // versitygw takes the header and does nothing.
    const strict = servers[1] && new S3ObjectStore(optionsFor(servers[1], { encryption: 'AES256' }));
    if (strict) await expect(strict.open(2)).rejects.toMatchObject({ fault: 'not_encrypted' });
  });
});

describe('the lifecycle of a bucket', () => {
  const server = servers[0]!;
  const client = clientOf(server);

  it('removes what was never finished, and is set once', async () => {
    const options = optionsFor(server);
    expect(await new S3ObjectStore(options).open(2)).toEqual({ made: true, lifecycle: 'set' });
    expect(await new S3ObjectStore(options).open(3)).toEqual({ made: false, lifecycle: 'set' });
    const kept = await client.getBucketLifecycle(options.bucket);
    expect(JSON.stringify(kept)).toContain('unfinished/');
  });

  it('that an operator set stays as it is', async () => {
    const options = optionsFor(server);
    await client.makeBucket(options.bucket, server.region);
    const rule = { ID: 'theirs', Status: 'Enabled', Filter: { Prefix: 'x/' }, Expiration: { Days: 9 } };
    await client.setBucketLifecycle(options.bucket, { Rule: [rule] } as unknown as LifecycleConfig);
    expect(await new S3ObjectStore(options).open(2)).toEqual({ made: false, lifecycle: 'foreign' });
    expect(JSON.stringify(await client.getBucketLifecycle(options.bucket))).toContain('theirs');
  });
});
