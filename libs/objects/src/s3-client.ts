import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { Client } from 'minio';
import { S3LaterStatus, S3Silence } from './s3-fault.ts';

export interface S3Options {
  /** Where our own services reach the server: scheme, host and port. */
  readonly endpoint: string;
  /** Where browsers and other clients reach it; `endpoint` by default. */
  readonly publicEndpoint?: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** `https://host/bucket/key` instead of `https://bucket.host/key`. */
  readonly pathStyle: boolean;
  /** PEM of the CA that signed the server's certificate, if no public one did. */
  readonly ca?: string;
  /** Server-side encryption that every write asks for. */
  readonly encryption: 'none' | 'AES256' | 'aws:kms';
  /** A connection on which nothing moves for so long is given up. */
  readonly silenceMs?: number;
}

const SILENCE_MS = 15_000;
/** Statuses that mean "later"; those on which `minio` would throw an error without a status and leave the answer unread. */
const LATER = new Set([408, 429, 499, 500, 502, 503, 504, 520]);

/** Bytes of one part, and of the largest object that is written in one request: 10,000 parts (S3's bound) reach 80 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;

/** A client for one of the two addresses. Its own retries are off (they print to the console and know no network errors): see `s3-retry.ts`. */
export function makeClient(options: S3Options, endpoint: string): Client {
  const { protocol, hostname, port } = new URL(endpoint);
  const secure = protocol === 'https:';
  return new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    useSSL: secure,
    accessKey: options.accessKey,
    secretKey: options.secretKey,
    region: options.region,
    pathStyle: options.pathStyle,
    partSize: PART_BYTES,
    transport: makeTransport(secure ? https : http, options.silenceMs ?? SILENCE_MS),
    transportAgent: makeAgents(options)[secure ? 'httpsAgent' : 'httpAgent'],
    retryOptions: { disableRetry: true },
  });
}

function makeAgents({ ca }: S3Options): { httpAgent: http.Agent; httpsAgent: https.Agent } {
  // A download holds its connection for as long as its reader takes; probes and uploads must not wait for those.
  const common = { keepAlive: true, maxSockets: 512 };
  return {
    httpAgent: new http.Agent(common),
    httpsAgent: new https.Agent({ ...common, ...(ca === undefined ? {} : { ca }) }),
  };
}

/** Requests that end with `S3Silence` when nothing moves and with `S3LaterStatus` on a status that asks to come back. */
function makeTransport(base: typeof http | typeof https, silenceMs: number): Pick<typeof http, 'request'> {
  const request = (options: https.RequestOptions, onResponse: (response: http.IncomingMessage) => void) => {
    const made = base.request(options);
    made.setTimeout(silenceMs, () => made.destroy(new S3Silence(silenceMs)));
    made.once('response', (response) => {
      const { statusCode = 0, headers } = response;
      if (!LATER.has(statusCode)) return onResponse(response);
      made.emit('error', new S3LaterStatus(statusCode, headers['retry-after']));
      made.destroy();
    });
    return made;
  };
  return { request } as Pick<typeof http, 'request'>;
}

/** Configuration of an AWS client for one of the two addresses: for signing, and for libraries that are built on it. */
export function awsConfig(options: S3Options, endpoint: string): S3ClientConfig {
  return {
    endpoint,
    region: options.region,
    forcePathStyle: options.pathStyle,
    credentials: { accessKeyId: options.accessKey, secretAccessKey: options.secretKey },
    // By default a checksum of the body is added: of an empty one in the case of a link, and as a trailer that not every server knows.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      ...makeAgents(options),
      connectionTimeout: 5_000,
      requestTimeout: options.silenceMs ?? SILENCE_MS,
    },
    maxAttempts: 4,
  };
}

/** Headers of our own on every object: its digest, and a mark by which a write whose answer was lost is known again. */
export const SHA256_META = 'moli-sha256';
export const WRITE_META = 'moli-write';

export function encryptionHeaders({ encryption }: S3Options): Record<string, string> {
  return encryption === 'none' ? {} : { 'x-amz-server-side-encryption': encryption };
}

/** Over TLS the body is not part of the signature: this lets the server notice a changed one. */
export const md5 = (data: Uint8Array): string => createHash('md5').update(data).digest('base64');
