import { type Attributes, context, propagation, type Span, SpanStatusCode, trace } from '@opentelemetry/api';

/**
 * The seven steps of the main scene. Whoever does the step opens the span with `span(STEPS.…, …)`; all of one scene share one trace id.
 *
 * | constant | opened by |
 * |---|---|
 * | `upload` | gateway, when an upload is finished: object written, read back, described |
 * | `context` | gateway, turn loop: history and files become the messages for the model |
 * | `decide` | gateway, turn loop: one model request, from sending to its last event |
 * | `call` | gateway, tools: checks of a call and waiting for its result |
 * | `run` | executor: the job, from claim to verdict |
 * | `result` | gateway: the outcome is settled and becomes the tool's answer to the model |
 * | `render` | gateway, turn loop: the final answer is completed and published to its readers |
 */
export const STEPS = {
  upload: 'moli.upload',
  context: 'moli.turn.context',
  decide: 'moli.turn.decide',
  call: 'moli.tool.call',
  run: 'moli.run',
  result: 'moli.tool.result',
  render: 'moli.turn.render',
} as const;

/** Stages inside `moli.run`; children of that span. */
export const RUN_STAGES = {
  claim: 'moli.run.claim',
  stage: 'moli.run.stage',
  execute: 'moli.run.execute',
  collect: 'moli.run.collect',
} as const;

const tracer = () => trace.getTracer('moli');

/**
 * Runs `work` inside a span. A thrown error marks the span failed, with the error's name and code and never its message: messages can hold what
 * people wrote. Costs about 1 µs when no exporter is configured.
 */
export async function span<T>(name: string, attributes: Attributes, work: (span: Span) => Promise<T> | T): Promise<T> {
  return tracer().startActiveSpan(name, { attributes }, async (active) => {
    try {
      return await work(active);
    } catch (error) {
      const { name: errorName, code } = error as { name?: string; code?: unknown };
      active.setAttribute('error.type', typeof code === 'string' ? code : (errorName ?? 'Error'));
      active.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      active.end();
    }
  });
}

/** The current context as text fields, for places that no instrumentation carries over: stream entries, rows. Empty when tracing is off. */
export function traceCarrier(): Record<string, string> {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier;
}

/** Runs `work` as a child of the context in `carrier` (see `traceCarrier`). */
export function inTraceOf<T>(carrier: Readonly<Record<string, string>> | undefined, work: () => T): T {
  return context.with(propagation.extract(context.active(), carrier ?? {}), work);
}
