import { AppError } from '@moli/errors';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { Hosts } from './hosts.ts';

const hosts = new Hosts({
  publicUrl: 'https://moli.example.org',
  internalUrl: 'http://gateway.moli.svc:8000',
  allowedHosts: ['Alt.Example.org'],
});

const request = (host: string, origin?: string, protocol = 'http') =>
  ({ host, protocol, headers: { origin } }) as unknown as FastifyRequest;

const codeOf = (work: () => void): string => {
  try {
    work();
    return 'ok';
  } catch (error) {
    return (error as AppError).code;
  }
};

describe('known hosts', () => {
  it.each([
    'moli.example.org',
    'MOLI.example.org',
    'gateway.moli.svc:8000',
    'alt.example.org',
    'alt.example.org:8443',
    'localhost:8000',
    '127.0.0.1',
    '[::1]:8000',
    '192.168.1.7:8000',
  ])('%s is served', (host) => expect(codeOf(() => hosts.assertKnown(request(host)))).toBe('ok'));
  it.each([
    'evil.example',
    'moli.example.org.evil.example',
    'localhost.evil.example',
    'xmoli.example.org',
    '127.0.0.1.nip.io',
    '',
    '[::1',
    '0x7f000001',
  ])('%j is misdirected', (host) => expect(codeOf(() => hosts.assertKnown(request(host)))).toBe('misdirected'));
});

describe('origins', () => {
  const same = (host: string, origin: string | undefined, withCookie: boolean, protocol?: string) =>
    codeOf(() => hosts.assertSameOrigin(request(host, origin, protocol), withCookie));

  it('are our own: the public one behind a proxy, else the one of the request', () => {
    expect(same('moli.example.org', 'https://moli.example.org', true)).toBe('ok');
    expect(same('localhost:8000', 'http://localhost:8000', true)).toBe('ok');
  });
  it.each([
    'https://evil.example',
    'null',
    'http://moli.example.org',
    'https://moli.example.org:444',
    'https://moli.example.org.evil.example',
  ])('%s is foreign', (origin) => {
    expect(same('moli.example.org', origin, true)).toBe('forbidden');
    expect(same('moli.example.org', origin, false)).toBe('forbidden');
  });
  it('may be missing only without a cookie', () => {
    expect(same('moli.example.org', undefined, true)).toBe('forbidden');
    expect(same('moli.example.org', undefined, false)).toBe('ok');
  });
});
