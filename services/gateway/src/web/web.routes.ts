import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import { log } from '@moli/telemetry';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.ts';

/** The workbench loads nothing from elsewhere, runs no inline script, and stands in nobody's frame. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const PERMISSIONS = 'camera=(), geolocation=(), microphone=(), payment=(), usb=()';

/** Paths of the API: a typo there is a 404 problem, never the page of the workbench. */
const API_PATH = /^\/(v1|api|objects|tools|docs|openapi\.json|livez|readyz|metrics|version)(\/|$)/;

/** Vite puts a hash of the content into these names. */
const HASHED = /^\/assets\//;

const YEAR_MS = 365 * 86_400_000;

function page(reply: FastifyReply): FastifyReply {
  return reply.header('content-security-policy', PAGE_POLICY).header('permissions-policy', PERMISSIONS);
}

async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const path = new URL(request.url, 'http://localhost').pathname;
  if (API_PATH.test(path)) {
    reply.callNotFound();
    return reply;
  }
  if (
    path === '/' ||
    path === '/index.html' ||
    (extname(path) === '' && request.headers.accept?.includes('text/html'))
  ) {
    return page(reply).header('cache-control', 'no-cache').sendFile('index.html', { cacheControl: false });
  }
  const hashed = HASHED.test(path);
  page(reply);
  return reply.sendFile(decodeURIComponent(path), { maxAge: hashed ? YEAR_MS : 3_600_000, immutable: hashed });
}

/** Serves the built workbench from `MOLI_WEB_DIR`: hashed files for a year, the page always checked anew, every deep link answered by the page. */
export function registerWeb(fastify: FastifyInstance, { webDir }: Pick<GatewayConfig, 'webDir'>): void {
  if (!webDir) return;
  const root = resolve(webDir);
  if (!existsSync(`${root}/index.html`)) {
    log.warn('the folder of the web workbench has no index.html; only the API is served', { folder: root });
    return;
  }
  fastify.register(fastifyStatic, { root, serve: false, dotfiles: 'ignore', index: false });
  fastify.get('/*', { config: { public: true } }, answer);
}
