import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { clocksAgree, gatewayIsReady, objectsAreClosed, sandboxIsReady } from './prerequisites.ts';

const servers: Server[] = [];

async function serve(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function answering(status: number, body: unknown, headers: Record<string, string> = {}): Promise<string> {
  return serve((_request, response) => {
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
}

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const NOWHERE = 'http://127.0.0.1:2';
const named = (zh: RegExp, en: RegExp) => ({
  detail: { zh: expect.stringMatching(zh), en: expect.stringMatching(en) },
});

describe('a missing prerequisite is named with what to do', () => {
  it('a gateway that is not there', async () => {
    await expect(gatewayIsReady(NOWHERE)).rejects.toMatchObject(named(/无法连接网关/, /gateway.*ECONNREFUSED.*Pods/i));
  });

  it('a gateway without its object store', async () => {
    const url = await answering(503, {
      dependencies: { postgres: { ok: true }, objects: { ok: false, detail: 'cannot be reached' } },
    });
    await expect(gatewayIsReady(url)).rejects.toMatchObject(
      named(/objects: cannot be reached.*s3\.endpoint/, /objects: cannot be reached.*s3\.endpoint/),
    );
  });

  it('an object store that is not there', async () => {
    await expect(objectsAreClosed({ url: NOWHERE, bucket: 'moli' })).rejects.toMatchObject(
      named(/ECONNREFUSED/, /ECONNREFUSED.*networkPolicy\.s3/),
    );
  });

  it('a bucket that anybody may read', async () => {
    const url = await answering(200, {});
    await expect(objectsAreClosed({ url, bucket: 'moli' })).rejects.toMatchObject(
      named(/匿名/, /Anybody can read the bucket moli/),
    );
  });

  it('a clock that is off by an hour', async () => {
    const url = await answering(403, {}, { date: new Date(Date.now() - 3_600_000).toUTCString() });
    await expect(objectsAreClosed({ url, bucket: 'moli' })).rejects.toMatchObject(named(/NTP/, /36\d\d s apart.*NTP/));
  });

  it('an executor without a sandbox, in its own words', async () => {
    const reason = 'a sandbox reached 169.254.169.254:80';
    const url = await answering(503, { redis: { ready: true }, sandbox: { ready: false, reason } });
    await expect(sandboxIsReady(url, 0)).rejects.toMatchObject(named(/169\.254/, /a sandbox reached 169\.254/));
  });
});

it('what is in order passes', async () => {
  const url = await answering(200, { dependencies: { postgres: { ok: true } } });
  const closed = await answering(403, {});
  clocksAgree(await gatewayIsReady(url), { zh: '网关', en: 'the gateway' });
  await objectsAreClosed({ url: closed, bucket: 'moli' });
  await sandboxIsReady(url, 0);
  clocksAgree(new Date(Number.NaN), { zh: '', en: '' });
});

it('waits for a sandbox that comes', async () => {
  let asked = 0;
  const url = await serve((_request, response) => {
    asked += 1;
    response.writeHead(asked === 1 ? 503 : 200).end('{}');
  });
  await sandboxIsReady(url, 60_000);
  expect(asked).toBe(2);
});
