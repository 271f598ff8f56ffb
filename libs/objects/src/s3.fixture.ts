import { randomBytes } from 'node:crypto';
import { startS3, startStrictS3, type TestS3 } from '@moli/testing';
import { Client } from 'minio';
import type { S3Options } from './s3-client.ts';

/** Both servers, started; the stricter one only where it can be had. */
export async function startServers(): Promise<TestS3[]> {
  const servers = await Promise.all([startS3(), startStrictS3()]);
  return servers.filter((server) => server !== null);
}

/** A bucket of the caller's own that is not there yet. */
export const optionsFor = (server: TestS3, more: Partial<S3Options> = {}): S3Options => ({
  endpoint: server.endpoint,
  region: server.region,
  bucket: `moli-${randomBytes(6).toString('hex')}`,
  accessKey: server.accessKey,
  secretKey: server.secretKey,
  pathStyle: true,
  encryption: 'none',
  ...more,
});

/** A client beside the store: to look, and to meddle. */
export const clientOf = ({ port, region, accessKey, secretKey }: TestS3): Client =>
  new Client({ endPoint: '127.0.0.1', port, useSSL: false, region, accessKey, secretKey });
