import { readFileSync } from 'node:fs';
import { ConfigError } from '@moli/config';
import { FolderObjectStore, type ObjectStore, S3ObjectStore, type S3Options } from '@moli/objects';
import type { GatewayConfig } from '../config.ts';
import { derivedKey } from '../secrets.ts';

/** The configured store, not yet opened: `ObjectsModule` does that when the gateway serves; commands do without. */
export function makeObjects(config: GatewayConfig): ObjectStore {
  if (config.objects === 's3') return new S3ObjectStore(s3Options(config));
  return new FolderObjectStore({
    directory: config.objectsDir,
    secret: derivedKey(config.secret, 'object links'),
    publicUrl: config.publicUrl,
    internalUrl: config.internalUrl ?? config.publicUrl,
  });
}

/** Access to the bucket, from a configuration that was checked to have it. Errors: `ConfigError` for an unusable CA file. */
export function s3Options(config: GatewayConfig): S3Options {
  const { s3Endpoint, s3Bucket, s3AccessKey, s3SecretKey } = config;
  if (!s3Endpoint || !s3Bucket || !s3AccessKey || !s3SecretKey) throw new Error('the configuration has no S3 server');
  return {
    endpoint: s3Endpoint,
    ...(config.s3PublicEndpoint ? { publicEndpoint: config.s3PublicEndpoint } : {}),
    region: config.s3Region,
    bucket: s3Bucket,
    accessKey: s3AccessKey,
    secretKey: s3SecretKey,
    pathStyle: config.s3PathStyle,
    encryption: config.s3Encryption,
    ...(config.s3CaFile ? { ca: readCa(config.s3CaFile) } : {}),
  };
}

function readCa(path: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  } catch {
    // Said below: what matters is the variable.
  }
  const variable = 'MOLI_S3_CA_FILE';
  throw new ConfigError([
    {
      variable,
      zh: '指向的文件读不到，或不是 PEM 证书',
      en: 'names a file that cannot be read or is no PEM certificate',
    },
  ]);
}
