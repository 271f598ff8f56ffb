import { RUN_STAGES } from '@moli/telemetry';
import { type Span, trace } from '@opentelemetry/api';

/** The stages of one run as spans that follow each other, children of the span that is active when a stage begins. */
export class StageSpans {
  #current: Span | null = null;

  enter(stage: keyof typeof RUN_STAGES): void {
    this.#current?.end();
    this.#current = trace.getTracer('moli').startSpan(RUN_STAGES[stage]);
  }

  end(): void {
    this.#current?.end();
    this.#current = null;
  }
}
