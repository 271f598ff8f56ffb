import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { log } from '@moli/telemetry';

const REDIS_PORT = '6379';

/**
 * Where a server of Redis is, as address:port of each of its addresses. Addresses and not its name: a Pod of another namespace may not know the
 * name, and what it cannot look up it would call out of reach. Empty while the name has none.
 */
export async function addressesOf(redisUrl: string): Promise<string[]> {
  const { hostname, port } = new URL(redisUrl);
  try {
    const found = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'), { all: true });
    return found.map(({ address }) => `${isIP(address) === 6 ? `[${address}]` : address}:${port || REDIS_PORT}`);
  } catch (error) {
    log.warn('the name of Redis has no address, so sandboxes do not try it', { error });
    return [];
  }
}
