export { configureLog, LOG_LEVELS, type LogFields, type LogLevel, log, withoutSecrets } from './log.ts';
export { inTraceOf, RUN_STAGES, STEPS, span, traceCarrier } from './spans.ts';
export { activeSpanTraceId, currentTraceId, newTraceId, withTraceId } from './trace-id.ts';
