import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { trace } from '@opentelemetry/api';

const storage = new AsyncLocalStorage<string>();

/** A new trace id: 32 hex digits, as in W3C trace context. */
export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

/** Runs `work` so that log lines and problem bodies made in it carry this trace id. */
export function withTraceId<T>(traceId: string, work: () => T): T {
  return storage.run(traceId, work);
}

/** The id that belongs to what is being done now: that of the active span, else the one given by `withTraceId`. */
export function currentTraceId(): string | undefined {
  return activeSpanTraceId() ?? storage.getStore();
}

/** Trace id of the active OpenTelemetry span; undefined when tracing is off. */
export function activeSpanTraceId(): string | undefined {
  const id = trace.getActiveSpan()?.spanContext().traceId;
  return id && !/^0+$/.test(id) ? id : undefined;
}
