import { ERRORS } from '@moli/errors';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { PUBLIC_EXTENSION } from '../identity/public.ts';
import { BUILD } from '../version.ts';
import { RAW_PATHS } from './raw-paths.ts';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { [PUBLIC_EXTENSION]?: boolean };
const METHODS = ['get', 'put', 'post', 'patch', 'delete', 'head'] as const;

const PROBLEM = {
  type: 'object',
  description: 'RFC 9457. `code` is a stable word; `detail` is in the language of Accept-Language (zh, en).',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    detail: { type: 'string' },
    traceId: { type: 'string' },
  },
  additionalProperties: true,
};

const PROBLEM_ANSWER = {
  description: 'Problem',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

function withRawPaths(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  const all = { ...paths };
  for (const [path, item] of Object.entries(RAW_PATHS)) all[path] = { ...all[path], ...item };
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The OpenAPI 3.1 document of the whole public API: Nest's handlers from their schemas, raw routes by hand. Every operation may answer a problem;
 * those that need no credentials say so.
 */
export function makeDocument(app: INestApplication): OpenAPIObject {
  const settings = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Moli')
    .setDescription('Self-hosted AI workbench. JSON in UTF-8, camelCase; times in RFC 3339 UTC; sizes in bytes.')
    .setVersion(BUILD.version)
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'API key: moli_…' }, 'key')
    .addCookieAuth('moli.session_token', { type: 'apiKey', in: 'cookie' }, 'session')
    .build();
  const document = SwaggerModule.createDocument(app, settings, { operationIdFactory: (_controller, method) => method });
  document.paths = withRawPaths(document.paths);
  document.components ??= {};
  document.components.schemas = {
    ...document.components.schemas,
    Problem: PROBLEM,
  } as typeof document.components.schemas;
  for (const item of Object.values(document.paths)) {
    for (const method of METHODS) {
      const operation = (item as Record<string, Operation | undefined>)[method];
      if (!operation) continue;
      operation.responses = { ...operation.responses, default: PROBLEM_ANSWER };
      // Public() marks its handler with the extension; the key of the document is the standard one.
      operation.security ??= operation[PUBLIC_EXTENSION] ? [] : [{ key: [] }, { session: [] }];
      delete operation[PUBLIC_EXTENSION];
    }
  }
  return document;
}
