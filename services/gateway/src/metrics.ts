import { Injectable } from '@nestjs/common';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds, from a cached answer to a long model turn. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const TURN_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
/** Seconds of the stages of a run, from a warm claim to the wall limit. */
const STAGE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Every series of the gateway. Labels come from closed sets (routes, codes, verdicts), never ids. `docs/metrics.md` is held to a real scrape of
 * this registry.
 */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  readonly requests = this.#counter('moli_requests_total', 'Answered HTTP requests', ['method', 'route', 'status']);
  readonly requestSeconds = this.#histogram(
    'moli_request_duration_seconds',
    'Time from the first byte of a request to the end of its answer',
    ['method', 'route'],
    REQUEST_BUCKETS,
  );
  readonly errors = this.#counter('moli_errors_total', 'Problem bodies sent, by code', ['code']);
  readonly signIns = this.#counter('moli_sign_ins_total', 'Attempts to sign in, by outcome', ['outcome']);

  readonly turns = this.#counter('moli_turns_total', 'Ended turns, by outcome', ['outcome']);
  readonly turnSeconds = this.#histogram(
    'moli_turn_duration_seconds',
    'Time from the acceptance of a message to the end of its turn',
    [],
    TURN_BUCKETS,
  );
  readonly firstTokenSeconds = this.#histogram(
    'moli_turn_first_token_seconds',
    'Time from the start of a turn to the first text or reasoning of the model',
    [],
    TURN_BUCKETS,
  );
  readonly turnsRunning = this.#gauge('moli_turns_running', 'Turns that run in this gateway now');
  readonly modelTokens = this.#counter('moli_model_tokens_total', 'Tokens as the model servers count them, by kind', [
    'kind',
  ]);
  readonly modelRequests = this.#counter('moli_model_requests_total', 'Requests to model servers, by outcome', [
    'outcome',
  ]);
  readonly modelFirstTokenSeconds = this.#histogram(
    'moli_model_first_token_seconds',
    'Time from asking a model server to the first piece of its answer',
    [],
    TURN_BUCKETS,
  );
  readonly modelErrors = this.#counter('moli_model_errors_total', 'Failed tries at model servers, by code', ['code']);
  readonly toolCalls = this.#counter('moli_tool_calls_total', 'Tool calls, by tool and outcome', ['tool', 'outcome']);
  readonly toolSeconds = this.#histogram(
    'moli_tool_duration_seconds',
    'Time of one tool call',
    ['tool'],
    STAGE_BUCKETS,
  );

  readonly runs = this.#counter('moli_runs_total', 'Settled runs, by verdict', ['verdict']);
  readonly runStageSeconds = this.#histogram(
    'moli_run_stage_seconds',
    'Time of each stage of a run',
    ['stage'],
    STAGE_BUCKETS,
  );
  readonly queueDepth = this.#gauge('moli_queue_depth', 'Runs that wait in the queue');
  readonly uploadBytes = this.#counter('moli_upload_bytes_total', 'Bytes of finished uploads');
  readonly uploads = this.#counter('moli_uploads_total', 'Ended uploads, by outcome', ['outcome']);

  readonly readers = this.#gauge('moli_session_readers', 'Open readers of session logs, by transport', ['transport']);
  readonly eventsAppended = this.#counter('moli_events_total', 'Events appended to session logs');
  readonly eventFlushSeconds = this.#histogram(
    'moli_event_flush_seconds',
    'Time of one write of the session log',
    [],
    REQUEST_BUCKETS,
  );

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #gauge<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.registry] });
  }
}
