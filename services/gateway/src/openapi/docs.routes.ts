import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { DOCS_STYLE, docsPage } from './docs-page.ts';
import { makeDocument } from './document.ts';

const PAGE_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `/openapi.json` and a readable page of it at `/docs`. Both are made at the first request and kept. */
export function registerDocs(fastify: FastifyInstance, app: NestFastifyApplication): void {
  let document: OpenAPIObject | undefined;
  const current = (): OpenAPIObject => {
    document ??= makeDocument(app);
    return document;
  };
  const config = { public: true };
  fastify.get('/openapi.json', { config }, (_request, reply) =>
    reply.header('cache-control', 'no-cache').send(current()),
  );
  fastify.get('/docs', { config }, (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-cache')
      .header('content-security-policy', PAGE_POLICY)
      .send(docsPage(current())),
  );
  fastify.get('/docs/style.css', { config }, (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('cache-control', 'max-age=3600').send(DOCS_STYLE),
  );
}
