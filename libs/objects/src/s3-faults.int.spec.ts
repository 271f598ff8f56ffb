import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type FaultProxy, freePort, type SeenRequest, startFaultProxy, type TestS3, testFolder } from '@moli/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { clientOf, optionsFor, startServers } from './s3.fixture.ts';
import type { S3Options } from './s3-client.ts';
import { S3_FAULTS, type S3Fault } from './s3-fault.ts';
import { S3ObjectStore } from './s3-store.ts';

const servers = await startServers();
afterAll(() => Promise.all(servers.map((server) => server.stop())));

const MIB = 1024 * 1024;
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
const always = 1_000;
const of =
  (method: string, has = '') =>
  (request: SeenRequest) =>
    request.method === method && request.url.includes(has);
const fails = (fault: S3Fault) => ({ code: 'unavailable', fault, settings: S3_FAULTS[fault].settings });

describe.each(servers.map((server): [string, TestS3] => [server.name, server]))('faults before %s', (_name, server) => {
  const small = randomBytes(70_000);
  const large = randomBytes(9 * MIB);
  let proxy: FaultProxy;
  let store: S3ObjectStore;
  let options: S3Options;
  /** What only our side decides is shown with one server. */
  const once = it.runIf(server === servers[0]);
  /** The same bucket without the proxy between. */
  let straight: S3ObjectStore;

  beforeAll(async () => {
    proxy = await startFaultProxy(server.endpoint);
    options = optionsFor(server);
    straight = new S3ObjectStore(options);
    await straight.open(2);
    store = new S3ObjectStore({ ...options, endpoint: proxy.url, silenceMs: 5_000 });
  });
  afterEach(() => proxy.clear());
  afterAll(() => proxy.close());
  const isWhole = async (key: string, data: Buffer) => {
    expect(await straight.stat(key)).toEqual({ key, bytes: data.length, sha256: sha256(data) });
    expect((await buffer((await straight.get(key)).stream)).equals(data)).toBe(true);
  };
  const unfinished = async () =>
    (await clientOf(server).listIncompleteUploadsQuery(options.bucket, '', '', '', '')).uploads;

  once.each([500, 502, 503, 429])('%i a few times is waited out', async (status) => {
    proxy.fault(of('PUT'), { kind: 'answer', status }, 3);
    await store.put(`s${status}`, small);
    proxy.fault(of('GET'), { kind: 'answer', status }, 2);
    expect((await buffer((await store.get(`s${status}`)).stream)).equals(small)).toBe(true);
    await isWhole(`s${status}`, small);
  });

  it('each request of a large upload is tried again', async () => {
    for (const [method, has] of [
      ['POST', 'uploads'],
      ['PUT', 'partNumber=2'],
      ['POST', 'uploadId'],
    ] as const)
      proxy.fault(of(method, has), { kind: 'answer', status: 503 });
    await store.put('parts', large);
    await isWhole('parts', large);
    expect(await unfinished()).toEqual([]);
  });

  once('a server that stays broken is said to be, and nothing is half there', async () => {
    proxy.fault(of('PUT'), { kind: 'answer', status: 500 }, always);
    await expect(store.put('broken', small)).rejects.toMatchObject(fails('busy'));
    await expect(store.put('broken', large)).rejects.toMatchObject(fails('busy'));
    expect([await straight.stat('broken'), await unfinished()]).toEqual([null, []]);
    proxy.fault(of('GET'), { kind: 'answer', status: 503 }, always);
    await expect(store.check()).rejects.toMatchObject(fails('busy'));
  });

  once('403 is no reason to try again', async () => {
    const body = '<Error><Code>AccessDenied</Code><Message>no</Message></Error>';
    proxy.fault(of('PUT'), { kind: 'answer', status: 403, body }, always);
    await expect(store.put('denied', small)).rejects.toMatchObject(fails('no_access'));
    expect(proxy.seen.filter(of('PUT'))).toHaveLength(1);
    expect(await straight.stat('denied')).toBeNull();
  });

  it('a write whose answer was lost is known again, also where the key had to be free', async () => {
    for (const [key, data, request] of [
      ['lost', small, of('PUT')],
      ['lost-large', large, of('POST', 'uploadId')],
    ] as const) {
      proxy.fault(request, { kind: 'lost-answer' });
      await store.put(key, data, { ifAbsent: true });
      await isWhole(key, data);
      await expect(store.put(key, data, { ifAbsent: true })).rejects.toMatchObject({ code: 'conflict' });
    }
  });

  it('a body that is cut is read on from there', async () => {
    await straight.put('cut', large);
    proxy.fault(of('GET', '/cut'), { kind: 'cut', afterBytes: 2 * MIB }, 2);
    expect((await buffer((await store.get('cut')).stream)).equals(large)).toBe(true);
    expect(proxy.seen.filter(of('GET', '/cut')).map(({ headers }) => Boolean(headers.range))).toEqual([
      false,
      true,
      true,
    ]);
    proxy.fault(of('GET', '/cut'), { kind: 'cut', afterBytes: 10 });
    const part = await store.get('cut', { start: 7, end: 106 });
    expect((await buffer(part.stream)).equals(large.subarray(7, 107))).toBe(true);
  });

  once('a body that is cut again and again never ends cleanly', async () => {
    await straight.put('cut-off', small);
    proxy.fault(of('GET', '/cut-off'), { kind: 'cut', afterBytes: 20_000 });
    proxy.fault(of('GET', '/cut-off'), { kind: 'cut', afterBytes: 0 }, always);
    const { stream } = await store.get('cut-off');
    await expect(buffer(stream)).rejects.toMatchObject(fails('unreachable'));
  });

  it('an object that was replaced while it was read is no mixture', async () => {
    await straight.put('replaced', large);
    proxy.fault(of('GET', '/replaced'), { kind: 'cut', afterBytes: 1 * MIB });
    const { stream } = await store.get('replaced');
    await straight.put('replaced', randomBytes(large.length));
    await expect(buffer(stream)).rejects.toMatchObject({ code: 'checksum_mismatch' });
  });

  it('a byte that changed on the way is noticed in both directions', async () => {
    proxy.fault(of('PUT'), { kind: 'alter', what: 'request' });
    await store.put('altered', small);
    await isWhole('altered', small);
    proxy.fault(of('PUT', 'partNumber=1'), { kind: 'alter', what: 'request' });
    await store.put('altered-large', large);
    await isWhole('altered-large', large);
    proxy.fault(of('GET', '/altered'), { kind: 'alter', what: 'answer' });
    const { stream } = await store.get('altered');
    await expect(buffer(stream)).rejects.toMatchObject({ code: 'checksum_mismatch' });
  });

  once('silence is not waited for without end', async () => {
    const impatient = new S3ObjectStore({ ...options, endpoint: proxy.url, silenceMs: 300 });
    proxy.fault(of('GET'), { kind: 'silence' });
    await straight.put('silent', small);
    expect((await buffer((await impatient.get('silent')).stream)).equals(small)).toBe(true);
    proxy.fault(of('HEAD'), { kind: 'silence' }, always);
    await expect(impatient.stat('silent')).rejects.toMatchObject(fails('slow'));
  });

  describe('a clock that is off by an hour', () => {
    afterEach(() => void vi.useRealTimers());
    it.each([-3_600_000, 3_600_000])('by %i ms', async (difference) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + difference });
      await expect(straight.check()).rejects.toMatchObject(fails('clock'));
      await expect(straight.stat('k')).rejects.toMatchObject(fails('clock'));
      await expect(straight.put('k', small)).rejects.toMatchObject(fails('clock'));
      await expect(straight.open(2)).rejects.toMatchObject(fails('clock'));
    });
  });

  describe('the start is refused', () => {
    const opened = (more: Partial<S3Options>) =>
      new S3ObjectStore({ ...options, endpoint: proxy.url, ...more }).open(2);

    it('with a wrong key or secret', async () => {
      await expect(opened({ accessKey: 'somebody' })).rejects.toMatchObject(fails('wrong_key'));
      await expect(opened({ secretKey: 'not-the-secret' })).rejects.toMatchObject(fails('wrong_key'));
    });

    it('with a name that no bucket can have', async () => {
      await expect(opened({ bucket: 'UPPER' })).rejects.toMatchObject(fails('no_bucket'));
    });

    it.runIf(server.readOnly)('with a key that may only read', async () => {
      await expect(opened({ ...server.readOnly })).rejects.toMatchObject(fails('no_access'));
      await expect(opened({ ...server.readOnly, bucket: 'not-there' })).rejects.toMatchObject(fails('no_bucket'));
    });

    once('where nothing listens, nothing answers, or no such host is', async () => {
      const endpoint = `http://127.0.0.1:${await freePort()}`;
      await expect(opened({ endpoint })).rejects.toMatchObject(fails('unreachable'));
      await expect(opened({ endpoint: 'http://moli.invalid:9000' })).rejects.toMatchObject(fails('unreachable'));
      proxy.fault(() => true, { kind: 'silence' }, always);
      await expect(opened({ silenceMs: 100 })).rejects.toMatchObject(fails('slow'));
    });

    once('where something else than S3 answers', async () => {
      for (const status of [200, 400, 404]) {
        const other = createServer((_request, response) => response.writeHead(status).end('<html>hello</html>'));
        await new Promise<void>((done) => void other.listen(0, '127.0.0.1', done));
        const endpoint = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
        await expect(opened({ endpoint }), String(status)).rejects.toMatchObject(fails('not_s3'));
        other.close();
      }
    });

    once('where the server takes a second write to a key', async () => {
      let puts = 0;
      proxy.fault((request) => request.method === 'PUT' && ++puts > 1, { kind: 'answer', status: 200 }, always);
      await expect(opened({})).rejects.toMatchObject(fails('not_conditional'));
    });

    once('where the server does not encrypt as it is told', async () => {
      const head = of('HEAD', 'unfinished/probe-');
      proxy.fault(head, { kind: 'answer', status: 200, headers: { 'content-length': '4' } }, always);
      const put = of('PUT', 'unfinished/probe-');
      let puts = 0;
      const body = '<Error><Code>PreconditionFailed</Code></Error>';
      proxy.fault((request) => put(request) && ++puts === 1, { kind: 'answer', status: 200 });
      proxy.fault(put, { kind: 'answer', status: 412, body });
      await expect(opened({ encryption: 'AES256' })).rejects.toMatchObject(fails('not_encrypted'));
      expect(proxy.seen.find(put)?.headers).toMatchObject({ 'x-amz-server-side-encryption': 'AES256' });
      const refusal = '<Error><Code>NotImplemented</Code></Error>';
      proxy.clear();
      proxy.fault(put, { kind: 'answer', status: 501, body: refusal }, always);
      await expect(opened({ encryption: 'aws:kms' })).rejects.toMatchObject(fails('not_encrypted'));
    });

    it('with a certificate that nobody vouches for, and not with its CA', async () => {
      const { key, cert } = selfSigned();
      const secure = await startFaultProxy(server.endpoint, { key, cert });
      await expect(opened({ endpoint: secure.url })).rejects.toMatchObject(fails('not_trusted'));
      await expect(opened({ endpoint: proxy.url.replace('http:', 'https:') })).rejects.toMatchObject(fails('not_tls'));
      const trusting = new S3ObjectStore({ ...options, endpoint: secure.url, ca: cert });
      await trusting.open(2);
      secure.fault(of('PUT', 'partNumber=1'), { kind: 'alter', what: 'request' });
      await trusting.put('over-tls', large);
      secure.fault(of('PUT', '/over-tls-small'), { kind: 'alter', what: 'request' });
      await trusting.put('over-tls-small', small);
      await isWhole('over-tls', large);
      await isWhole('over-tls-small', small);
      await secure.close();
    });
  });

  once('encryption is asked for with every write and signed into links', async () => {
    const sealed = new S3ObjectStore({ ...options, endpoint: proxy.url, encryption: 'AES256' });
    const body = '<Error><Code>AccessDenied</Code></Error>';
    proxy.fault(of('PUT'), { kind: 'answer', status: 403, body }, always);
    proxy.fault(of('POST', 'uploads'), { kind: 'answer', status: 403, body }, always);
    await expect(sealed.put('k', small)).rejects.toMatchObject(fails('no_access'));
    await expect(sealed.put('k', large)).rejects.toMatchObject(fails('no_access'));
    const writes = proxy.seen.filter(({ method }) => method === 'PUT' || method === 'POST');
    expect(writes.map(({ headers }) => headers['x-amz-server-side-encryption'])).toEqual(['AES256', 'AES256']);
    const link = await sealed.signPut('k', {
      bytes: 1,
      sha256: sha256(Buffer.from('x')),
      contentType: 'text/plain',
      expiresInSeconds: 60,
    });
    expect(link.headers).toMatchObject({ 'x-amz-server-side-encryption': 'AES256' });
    expect(new URL(link.url).searchParams.get('X-Amz-SignedHeaders')).toContain('x-amz-server-side-encryption');
  });
});

/** A key and a certificate for 127.0.0.1 that is its own CA. */
function selfSigned(): { key: string; cert: string } {
  const folder = testFolder('tls');
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], { stdio: 'pipe' });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}
