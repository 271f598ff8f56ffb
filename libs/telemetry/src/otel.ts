/**
 * Preloaded with `node --import …/otel.js main.js`, and only when `MOLI_OTLP_ENDPOINT` is set: it costs half a second of the start and about
 * 4 µs a span. Without it the API's spans are no-ops. Bundles keep pg, ioredis, bullmq and undici outside, or nothing could patch them.
 */
import { register } from 'node:module';
import { basename, dirname } from 'node:path';
import { type Attributes, type Context, context, propagation, type SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

/** Probes and scrapes: one a few seconds from each machine, of no interest to anyone. */
const PROBES = /^\/(livez|readyz|metrics)(\?|$)/;

/** Timers of BullMQ that start traces of their own, some a second. */
const POLLERS = /(startStalledCheckTimer|moveStalledJobsToWait|extendLock|getNextJob|waitForJob)/;

/** Keeps every trace but those that only pollers make. */
class NoPollers implements Sampler {
  shouldSample(
    _context: Context,
    _traceId: string,
    name: string,
    _kind: SpanKind,
    _attributes: Attributes,
  ): SamplingResult {
    return { decision: POLLERS.test(name) ? SamplingDecision.NOT_RECORD : SamplingDecision.RECORD_AND_SAMPLED };
  }

  toString(): string {
    return 'NoPollers';
  }
}

/** Attributes of HTTP spans that hold the address as it was asked for. */
const ADDRESSES = ['url.full', 'url.path', 'http.url', 'http.target'];

/** One-time tokens travel in addresses: links, invitations, signed objects. They must not reach a trace store. */
class WithoutTokens implements SpanProcessor {
  onStart(): void {}

  onEnd({ attributes }: ReadableSpan): void {
    delete attributes['url.query'];
    for (const name of ADDRESSES) {
      const value = attributes[name];
      if (typeof value === 'string')
        attributes[name] = value.replace(/\?.*$/, '').replace(/(\/invitations\/)[^/]+/, '$1*');
    }
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

/** `gateway` for `…/services/gateway/dist/main.js`. */
function serviceName(): string {
  return process.env.OTEL_SERVICE_NAME ?? basename(dirname(dirname(process.argv[1] ?? 'moli')));
}

function start(endpoint: string): void {
  // CommonJS packages are patched without it; ES modules need the loader hook before anything is imported.
  register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName(), 'service.namespace': 'moli' }),
    sampler: new ParentBasedSampler({ root: new NoPollers() }),
    spanProcessors: [
      new WithoutTokens(),
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` }) }),
    ],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  registerInstrumentations({
    instrumentations: [
      new HttpInstrumentation({ ignoreIncomingRequestHook: ({ url }) => PROBES.test(url ?? '') }),
      new UndiciInstrumentation({ requireParentforSpans: true }),
      // Statements carry no values, keys of Redis no arguments: both can hold what people wrote.
      new PgInstrumentation({ requireParentSpan: true, enhancedDatabaseReporting: false }),
      new IORedisInstrumentation({ requireParentSpan: true, dbStatementSerializer: (command) => command }),
    ],
  });
  // Spans of the last seconds must not be lost with an orderly stop.
  process.once('beforeExit', () => void provider.shutdown());
  process.once('SIGTERM', () => void provider.forceFlush());
}

const endpoint = process.env.MOLI_OTLP_ENDPOINT?.trim();
if (endpoint) start(endpoint);
