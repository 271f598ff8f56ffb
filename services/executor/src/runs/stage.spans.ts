import { RUN_STAGES } from '@moli/telemetry';
import { type Span, trace } from '@opentelemetry/api';

/** The stages of one run as spans that follow each other, children of the span that is active when a stage begins. */
export class StageSpans {
  #current: Span | null = null;

  /** `at` in epoch milliseconds: when the stage really began, if that is earlier than now. */
  enter(stage: keyof typeof RUN_STAGES, at: number = Date.now()): void {
    this.#current?.end(at);
    this.#current = trace.getTracer('moli').startSpan(RUN_STAGES[stage], { startTime: at });
  }

  end(): void {
    this.#current?.end();
    this.#current = null;
  }
}
