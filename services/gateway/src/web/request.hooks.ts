import { withTraceId } from '@moli/telemetry';
import { context, trace } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../metrics.ts';

/** What an answer of the API may load or be put into: nothing. Pages (web, docs) send their own policy. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': API_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** First hooks of every request: trace id, security headers (a handler may replace them), and its count and time. */
export function registerRequestHooks(fastify: FastifyInstance, metrics: Metrics): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS).header('moli-trace-id', request.id);
    if (request.url.startsWith('/v1/') || request.url.startsWith('/api/')) reply.header('cache-control', 'no-store');
    const active = trace.getSpan(context.active());
    const route = request.routeOptions.url;
    // The instrumentation of http names its spans only by method.
    if (active && route) active.updateName(`${request.method} ${route}`).setAttribute('http.route', route);
    withTraceId(request.id, done);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unmatched';
    metrics.requests.inc({ method: request.method, route, status: String(reply.statusCode) });
    metrics.requestSeconds.observe({ method: request.method, route }, reply.elapsedTime / 1000);
    done();
  });
}
