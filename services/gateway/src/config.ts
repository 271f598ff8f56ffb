import { ConfigError, flag, integer, readConfig, wordList } from '@moli/config';
import { LOCALES } from '@moli/errors';
import { ACCEPTED_TYPES } from '@moli/tables';
import { LOG_LEVELS } from '@moli/telemetry';
import { z } from 'zod';
import { trustedUrl } from './database/trusted-url.ts';

const MIB = 1024 * 1024;

const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'not a postgres:// URL');
const httpUrl = z
  .url({ protocol: /^https?$/, error: 'not an http:// or https:// URL' })
  .transform((url) => url.replace(/\/+$/, ''));

/** Scheme, host and port: signatures cover the path, so a server below a path cannot be addressed. */
const s3Url = httpUrl.refine(
  (url) => new URL(url).origin === url.toLowerCase(),
  'has to be scheme, host and port alone',
);
const bucketName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'not 3 to 63 lower-case letters, digits, dots and hyphens');

const KNOWN_TYPES = ACCEPTED_TYPES.map(({ extension }) => extension);
const uploadTypes = wordList.refine((types) => types.length > 0 && types.every((type) => KNOWN_TYPES.includes(type)), {
  error: `not among ${KNOWN_TYPES.join(', ')}`,
});

/** Every variable of the gateway. `docs/config.md` is made from this object. */
export const GatewayConfigSchema = z.object({
  host: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'Address to listen on. 0.0.0.0 is every address of the machine.' }),
  port: integer(0, 65_535).default(8000).meta({ description: 'Port of the public door. 0 takes any free one.' }),
  publicUrl: httpUrl
    .default('http://localhost:8000')
    .meta({ description: 'Address people open in the browser: start of links and the origin that cookies belong to.' }),
  internalUrl: httpUrl.optional().meta({
    description: 'Address at which the executor reaches the gateway for signed links. Default: `MOLI_PUBLIC_URL`.',
  }),
  allowedHosts: wordList.default([]).meta({
    description:
      'More `host[:port]` names under which people may open Moli, separated by commas. Names that are not known get 421.',
  }),
  trustedProxies: wordList.default([]).meta({
    description:
      'Addresses or networks of reverse proxies whose `X-Forwarded-*` headers are believed, separated by commas.',
  }),
  databaseUrl: postgresUrl.meta({
    description: 'PostgreSQL as role moli_app: one tenant’s rows at a time.',
    secret: true,
  }),
  databaseLogUrl: postgresUrl.meta({
    description: 'PostgreSQL as role moli_log: appends to session logs.',
    secret: true,
  }),
  databaseAuthUrl: postgresUrl.meta({
    description: 'PostgreSQL as role moli_auth: people, sign-ins and look-up of keys.',
    secret: true,
  }),
  databaseOwnerUrl: postgresUrl.optional().meta({
    description: 'PostgreSQL as a role that may create roles and tables. Only for the `migrate` command.',
    secret: true,
  }),
  databaseCaFile: z.string().optional().meta({
    description:
      'PEM file of the CA that signed the certificate of PostgreSQL: connections are encrypted, and certificate and name are checked against it.',
  }),
  databasePoolSize: integer(1, 200)
    .default(10)
    .meta({ description: 'Connections of one gateway as moli_app; the two other roles get half each.' }),
  redisUrl: z
    .string()
    .regex(/^rediss?:\/\//, 'not a redis:// URL')
    .meta({ description: 'Redis: queue, live output, rate limits.', secret: true }),
  objects: z.enum(['folder', 's3']).default('folder').meta({
    description:
      'Where the bytes of files and artifacts lie: `folder` of one machine, or a bucket of an `s3` server, which several gateways can share.',
  }),
  objectsDir: z
    .string()
    .default('./data/objects')
    .meta({ description: 'Folder that holds the bytes of files and artifacts. Only with `MOLI_OBJECTS=folder`.' }),
  s3Endpoint: s3Url.optional().meta({
    description:
      'Address of the S3 server for our own services. Needed with `MOLI_OBJECTS=s3`, as are bucket and keys.',
  }),
  s3PublicEndpoint: s3Url.optional().meta({
    description:
      'Address of the S3 server in links that people and programs get; another host than `MOLI_PUBLIC_URL`. The workbench does not need it: it reads through the gateway. Default: `MOLI_S3_ENDPOINT`.',
  }),
  s3Region: z.string().default('us-east-1').meta({ description: 'Region in signatures.' }),
  s3Bucket: bucketName.optional().meta({ description: 'Bucket of this installation alone; made when it is missing.' }),
  s3AccessKey: z.string().optional().meta({
    description: 'Access key that may list, read, write and delete in that bucket.',
    secret: true,
  }),
  s3SecretKey: z.string().optional().meta({ description: 'Secret key that belongs to it.', secret: true }),
  s3PathStyle: flag
    .default(true)
    .meta({ description: 'The bucket stands in the path of an address (most servers) and not before the host name.' }),
  s3CaFile: z.string().optional().meta({
    description: 'PEM file of the CA that signed the certificate of the S3 server, when no public one did.',
  }),
  s3Encryption: z.enum(['none', 'AES256', 'aws:kms']).default('none').meta({
    description: 'Server-side encryption asked for with every write. A server that does not apply it is refused.',
  }),
  uploadDir: z.string().default('./data/uploads').meta({
    description: 'Folder of unfinished uploads. Only with `MOLI_OBJECTS=folder`; in S3 they lie in the bucket.',
  }),
  uploadExpirySeconds: integer(60, 30 * 86_400)
    .default(86_400)
    .meta({ description: 'Age at which an unfinished upload is removed, in seconds.' }),
  uploadMaxBytes: integer(1, 10_240 * MIB)
    .default(50 * MIB)
    .meta({ description: 'Largest file that is accepted, in bytes.' }),
  uploadTypes: uploadTypes.default(KNOWN_TYPES).meta({
    description: 'File name extensions that are accepted, separated by commas. The content must fit the name.',
  }),
  secret: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'not 64 hex digits')
    .meta({
      description:
        'Root of all derived keys: cookies, links, stored model keys. 64 hex digits; losing it signs everyone out and locks stored model keys.',
      secret: true,
    }),
  webDir: z
    .string()
    .optional()
    .meta({ description: 'Folder of the built web workbench. Without it the gateway serves the API alone.' }),
  locale: z.enum(LOCALES).default('zh').meta({
    description:
      'Language of the first agent’s prompt in a new tenant, unless `tenant create --locale` names another: zh, en.',
  }),
  modelBaseUrl: httpUrl.optional().meta({
    description: 'OpenAI-protocol address of the first model of a new tenant, up to and including `/v1`.',
    aliases: ['api_base'],
  }),
  modelApiKey: z
    .string()
    .optional()
    .meta({ description: 'Key for that model server.', aliases: ['api_key'], secret: true }),
  modelName: z
    .string()
    .optional()
    .meta({ description: 'Name of that model.', aliases: ['model_name'] }),
  modelContextTokens: integer(1_000, 10_000_000).optional().meta({
    description: 'Context window of that model, in tokens. Default: by the model’s name, 32,000 for an unknown one.',
  }),
  modelScripted: flag
    .default(false)
    .meta({ description: 'That model is a scripted one for demonstrations; it is labelled so wherever it shows.' }),
  otlpEndpoint: httpUrl.optional().meta({ description: 'OTLP/HTTP collector for traces. Tracing is off without it.' }),
  logLevel: z
    .enum(LOG_LEVELS)
    .default('info')
    .meta({ description: 'Least level that is logged: debug, info, warn, error.' }),
  shutdownSeconds: integer(1, 600).default(5).meta({ description: 'Longest time for an orderly stop, in seconds.' }),
});

/** Read once at the start, frozen; injected as `CONFIG`. */
export type GatewayConfig = Readonly<z.output<typeof GatewayConfigSchema>>;

/** Throws ConfigError naming every variable that is missing or bad. */
export function readGatewayConfig(env: Readonly<Record<string, string | undefined>>): GatewayConfig {
  const config = readConfig(GatewayConfigSchema, env);
  if (config.objects === 's3') requireS3(config);
  return config.databaseCaFile === undefined ? config : Object.freeze(withTrustedDatabase(config));
}

function withTrustedDatabase(config: GatewayConfig): GatewayConfig {
  const trusted = (url: string): string => trustedUrl(url, config.databaseCaFile);
  const { databaseUrl, databaseLogUrl, databaseAuthUrl, databaseOwnerUrl } = config;
  return {
    ...config,
    databaseUrl: trusted(databaseUrl),
    databaseLogUrl: trusted(databaseLogUrl),
    databaseAuthUrl: trusted(databaseAuthUrl),
    ...(databaseOwnerUrl === undefined ? {} : { databaseOwnerUrl: trusted(databaseOwnerUrl) }),
  };
}

function requireS3(config: GatewayConfig): void {
  const needed = {
    MOLI_S3_ENDPOINT: config.s3Endpoint,
    MOLI_S3_BUCKET: config.s3Bucket,
    MOLI_S3_ACCESS_KEY: config.s3AccessKey,
    MOLI_S3_SECRET_KEY: config.s3SecretKey,
  };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  const faults = missing.map(([variable]) => ({
    variable,
    zh: '没有设置，MOLI_OBJECTS=s3 时必须设置',
    en: 'is not set, and MOLI_OBJECTS=s3 needs it',
  }));
  // Stored content must not share an origin with the workbench: a page in it could act for whoever is signed in.
  const [variable, address] = config.s3PublicEndpoint
    ? ['MOLI_S3_PUBLIC_ENDPOINT', config.s3PublicEndpoint]
    : ['MOLI_S3_ENDPOINT', config.s3Endpoint];
  if (address !== undefined && new URL(address).origin === new URL(config.publicUrl).origin)
    faults.push({
      variable: variable as string,
      zh: '与 MOLI_PUBLIC_URL 是同一个地址，对象存储须用另一个主机名或端口',
      en: 'is the same address as MOLI_PUBLIC_URL; the object store needs another host or port',
    });
  if (faults.length > 0) throw new ConfigError(faults);
}
