import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ProbeOutcome } from '@moli/rpc';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ObjectServer } from '../runner/object-server.fixture.ts';
import { LinkClient } from '../runner/slot/link.client.ts';
import { openCanary } from './canary.ts';
import { forbiddenTargets, parseTarget, probeIsolation } from './isolation.probe.ts';
import { probeObjects } from './objects.probe.ts';

const listener = createServer((socket) => socket.destroy());
beforeAll(async () => {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
});
afterAll(() => {
  listener.close();
});

it('knows what must be out of reach', () => {
  const targets = forbiddenTargets({
    apiServer: '10.96.0.1:443',
    nodeIp: '10.0.0.1',
    outside: ['169.254.169.254:80', '8.8.8.8:53', '1.1.1.1:443'],
    listed: ['db.example:5432', '[fd00::1]:443', '10.0.0.1:22'],
  });
  const kinds = targets.map(({ kind, host, port }) => `${kind} ${host} ${port}`);
  expect(kinds).toContain('metadata 169.254.169.254 80');
  expect(kinds).toContain('dns 8.8.8.8 53');
  expect(kinds).toContain('api-server 10.96.0.1 443');
  expect(kinds).toContain('forbidden fd00::1 443');
  expect(targets.filter(({ host, port }) => host === '10.0.0.1' && port === 22)).toHaveLength(1);
  expect(() => parseTarget('no-port', 'forbidden')).toThrow('no-port');
});

it('tells what answers from what does not', async () => {
  const { port } = listener.address() as AddressInfo;
  const [reached, refused, silent] = await probeIsolation([
    { kind: 'forbidden', host: '127.0.0.1', port },
    { kind: 'node', host: '127.0.0.1', port: 1 },
    { kind: 'forbidden', host: '192.0.2.1', port: 443 },
  ]);
  expect(reached).toMatchObject({ outcome: ProbeOutcome.REACHED, target: `127.0.0.1:${port}` });
  expect(refused).toMatchObject({ outcome: ProbeOutcome.BLOCKED, detail: 'ECONNREFUSED' });
  expect(silent).toMatchObject({ outcome: ProbeOutcome.BLOCKED });
});

it('reaches the canary of a neighbour when nothing stands between them', async () => {
  const canary = await openCanary('127.0.0.1', 0);
  const { port } = canary.address() as AddressInfo;
  const [seen] = await probeIsolation([{ kind: 'neighbour', host: '127.0.0.1', port }]);
  expect(seen?.outcome).toBe(ProbeOutcome.REACHED);
  canary.close();
});

it('wants an object store that is there and closed', async () => {
  const links = new LinkClient();
  await using store = await ObjectServer.start();
  expect(await probeObjects(store.url, links)).toMatchObject({ outcome: ProbeOutcome.BLOCKED });
  const open = store.input('public.csv', 'a');
  expect(await probeObjects(open.url, links)).toMatchObject({ outcome: ProbeOutcome.REACHED });
  expect(await probeObjects('http://127.0.0.1:1', links)).toMatchObject({
    outcome: ProbeOutcome.FAILED,
    detail: expect.stringContaining('ECONNREFUSED'),
  });
  links.close();
});
