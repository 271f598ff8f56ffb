import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { AppError } from '@moli/errors';
import { buildConnector } from 'undici';

/**
 * Where no model lives and a cloud keeps its machines' credentials. Other private addresses are allowed: administrators set these, and
 * closed installations have their models there.
 */
const METADATA = new BlockList();
METADATA.addSubnet('169.254.0.0', 16, 'ipv4');
METADATA.addAddress('100.100.100.200', 'ipv4');
METADATA.addSubnet('fe80::', 10, 'ipv6');
METADATA.addAddress('fd00:ec2::254', 'ipv6');

/** Also finds IPv4 inside of IPv6 (`::ffff:169.254.169.254`). */
export function isMetadata(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && METADATA.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Opens connections to model servers; refuses metadata addresses when it connects, whatever name led there. */
export function modelConnector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: guardedLookup });
  return (options, callback) => {
    // Node asks no lookup for a literal address, so it is looked at here. The URL parser has made 0x… and 2130706433 plain by now.
    if (isMetadata(options.hostname.replace(/^\[|\]$/g, ''))) return callback(refused(options.hostname), null);
    connect(options, callback);
  };
}

const guardedLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, '', 0);
    if (addresses.some(({ address }) => isMetadata(address))) return callback(refused(hostname), '', 0);
    const first = addresses[0]!;
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

const refused = (host: string): AppError & NodeJS.ErrnoException =>
  new AppError('bad_request', {
    zh: `不允许把 ${host} 用作模型服务地址：它是云平台的元数据地址。请填写模型服务自己的地址。`,
    en: `${host} cannot be the address of a model server: it is a metadata address of a cloud. Give the address of the model server itself.`,
  });
