import { flag, integer, readConfig, wordList } from '@moli/config';
import { ACCEPTED_TYPES } from '@moli/tables';
import { LOG_LEVELS } from '@moli/telemetry';
import { z } from 'zod';

const MIB = 1024 * 1024;

const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'not a postgres:// URL');
const httpUrl = z
  .url({ protocol: /^https?$/, error: 'not an http:// or https:// URL' })
  .transform((url) => url.replace(/\/+$/, ''));

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
  databasePoolSize: integer(1, 200)
    .default(10)
    .meta({ description: 'Connections of one gateway as moli_app; the two other roles get half each.' }),
  redisUrl: z
    .string()
    .regex(/^rediss?:\/\//, 'not a redis:// URL')
    .meta({ description: 'Redis: queue, live output, rate limits.', secret: true }),
  objectsDir: z
    .string()
    .default('./data/objects')
    .meta({ description: 'Folder that holds the bytes of files and artifacts.' }),
  uploadDir: z.string().default('./data/uploads').meta({ description: 'Folder of unfinished uploads.' }),
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
  return readConfig(GatewayConfigSchema, env);
}
