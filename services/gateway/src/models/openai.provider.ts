import { AppError, type ErrorCode } from '@moli/errors';
import type { Agent } from 'undici';
import { newId } from '../ids.ts';
import { AnswerReader, drain } from './answer-reader.ts';
import { type Answer, MODEL_TIMEOUTS, ModelClient, type ModelServer, type ModelTimeouts } from './model-client.ts';
import { cutError, modelError } from './model-error.ts';
import type {
  ChatOptions,
  ModelAnswer,
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ModelTool,
  ModelUsage,
  TokenMeasure,
} from './provider.types.ts';
import { type Quirks, requestBody } from './request-body.ts';
import { StreamAssembler } from './stream-assembler.ts';
import { TokenCounter } from './token-counter.ts';

/** Tries in all, and the waits before the second and third (milliseconds, ± half). */
const BACK_OFF_MS = [500, 2000];
/** A server that asks for a longer wait gets its refusal passed on instead. */
const LONGEST_WAIT_SECONDS = 20;
const RETRIED: ReadonlySet<ErrorCode> = new Set(['model_overloaded', 'model_unreachable', 'model_failed', 'model_cut']);

/** What the owner of a provider is told, for metrics. */
export interface ModelObserver {
  firstToken?(seconds: number): void;
  usage?(usage: ModelUsage): void;
  /** Each failed try, also one that is tried again. */
  failed?(code: ErrorCode): void;
  settled?(outcome: 'ok' | 'failed' | 'stopped'): void;
}

interface Options {
  readonly server: ModelServer;
  readonly agent: Agent;
  readonly timeouts?: ModelTimeouts;
  readonly observer?: ModelObserver;
  /** Waits between tries; tests shorten them. */
  readonly backOffMs?: readonly number[];
}

/** A model behind any server that speaks the OpenAI chat protocol. */
export class OpenAiProvider implements ModelProvider {
  readonly client: ModelClient;
  readonly #model: string;
  readonly #timeouts: ModelTimeouts;
  readonly #observer: ModelObserver;
  readonly #backOffMs: readonly number[];
  readonly #quirks: Quirks = { noStreamOptions: false, swapMaxTokens: false };
  readonly #counter: TokenCounter;

  constructor(options: Options) {
    this.#timeouts = options.timeouts ?? MODEL_TIMEOUTS;
    this.client = new ModelClient(options.server, options.agent, this.#timeouts);
    this.#model = options.server.model;
    this.#observer = options.observer ?? {};
    this.#backOffMs = options.backOffMs ?? BACK_OFF_MS;
    this.#counter = new TokenCounter(options.server.model);
  }

  async *streamChat(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    options: ChatOptions = {},
  ): AsyncGenerator<ModelEvent> {
    let outcome: 'ok' | 'failed' | 'stopped' = 'stopped';
    try {
      for await (const events of this.#retried(messages, tools, options)) {
        for (const event of events) {
          if (event.type === 'end') {
            outcome = 'ok';
            if (event.usage) this.#settle(messages, tools, event.usage);
          }
          yield event;
        }
      }
    } catch (thrown) {
      if (thrown instanceof AppError) outcome = 'failed';
      throw thrown;
    } finally {
      this.#observer.settled?.(outcome);
    }
  }

  /** Tries again while nothing was delivered and the fault may pass. */
  async *#retried(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    options: ChatOptions,
  ): AsyncGenerator<readonly ModelEvent[]> {
    const started = performance.now();
    let delivered = false;
    for (let tries = 0; ; tries++) {
      try {
        for await (const events of this.#once(messages, tools, options)) {
          if (events.length === 0) continue;
          if (!delivered) this.#observer.firstToken?.((performance.now() - started) / 1000);
          delivered = true;
          yield events;
        }
        return;
      } catch (fault) {
        options.signal?.throwIfAborted();
        if (!(fault instanceof AppError)) throw fault;
        this.#observer.failed?.(fault.code);
        const wait = this.#waitBefore(tries, fault);
        if (delivered || wait === undefined) throw fault;
        await pause(wait, options.signal);
      }
    }
  }

  async chat(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    options: ChatOptions = {},
  ): Promise<ModelAnswer> {
    let text = '';
    let reasoning = '';
    const calls = [];
    // Streams are asked for here too: one path, and proxies that cut silent connections do not matter.
    for await (const event of this.streamChat(messages, tools, options)) {
      if (event.type === 'text') text += event.text;
      else if (event.type === 'reasoning') reasoning += event.text;
      else if (event.type === 'call') calls.push(event.call);
      else
        return {
          text,
          reasoning,
          calls,
          finishReason: event.finishReason,
          ...(event.usage ? { usage: event.usage } : {}),
        };
    }
    throw cutError();
  }

  async countTokens(messages: readonly ModelMessage[], tools: readonly ModelTool[]): Promise<number> {
    return (await this.#counter.measure(messages, tools)).tokens;
  }

  measure(messages: readonly ModelMessage[], tools: readonly ModelTool[]): Promise<TokenMeasure> {
    return this.#counter.measure(messages, tools);
  }

  #settle(messages: readonly ModelMessage[], tools: readonly ModelTool[], usage: ModelUsage): void {
    this.#observer.usage?.(usage);
    void this.#counter.learn(messages, tools, usage.promptTokens).catch(() => {});
  }

  /** Milliseconds until the next try, or undefined when there is none. */
  #waitBefore(tries: number, fault: AppError): number | undefined {
    const base = this.#backOffMs[tries];
    if (base === undefined || !RETRIED.has(fault.code) || fault.fields.httpStatus === 404) return undefined;
    const asked = fault.retryAfterSeconds ?? 0;
    if (asked > LONGEST_WAIT_SECONDS) return undefined;
    return Math.max(asked * 1000, base * (0.5 + Math.random()));
  }

  async *#once(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    options: ChatOptions,
  ): AsyncGenerator<readonly ModelEvent[]> {
    const answer = await this.#open(messages, tools, options);
    const assembler = new StreamAssembler({ offered: tools.map((tool) => tool.name), newId: () => newId('call') });
    const reader = new AnswerReader(this.client, this.#timeouts.idleMs);
    let broken: unknown;
    try {
      for await (const events of reader.read(answer, assembler)) yield events;
    } catch (thrown) {
      options.signal?.throwIfAborted();
      if (thrown instanceof AppError) throw thrown;
      broken = thrown;
    } finally {
      // Also when the consumer leaves early: the server must not go on writing for nobody.
      if (assembler.done) drain(answer);
      else answer.body.destroy();
    }
    const { events, fault } = assembler.finish();
    yield events;
    if (fault)
      throw broken !== undefined && fault.code === 'model_cut' ? reader.faultOfBreak(broken) : this.#cleaned(fault);
  }

  /** An error's words may repeat the key that was sent. */
  #cleaned(fault: AppError): AppError {
    const words = fault.fields.serverMessage;
    if (typeof words !== 'string' || this.client.scrub(words) === words) return fault;
    return modelError(fault.code, this.client.scrub(fault.detail.zh), this.client.scrub(fault.detail.en), {
      cause: fault,
    });
  }

  /** Opens the answer; learns from a refusal what this server does not understand and asks once more without it. */
  async #open(messages: readonly ModelMessage[], tools: readonly ModelTool[], options: ChatOptions): Promise<Answer> {
    for (let adjusted = 0; ; adjusted++) {
      const body = requestBody(this.#model, messages, tools, { ...options, stream: true, quirks: this.#quirks });
      try {
        return await this.client.chat(body, options.signal);
      } catch (thrown) {
        if (adjusted >= 2 || !this.#adjust(thrown)) throw thrown;
      }
    }
  }

  #adjust(thrown: unknown): boolean {
    const { httpStatus, serverMessage } = (thrown as AppError).fields ?? {};
    if ((httpStatus !== 400 && httpStatus !== 422) || typeof serverMessage !== 'string') return false;
    if (/stream_options|include_usage/.test(serverMessage) && !this.#quirks.noStreamOptions) {
      this.#quirks.noStreamOptions = true;
      return true;
    }
    if (
      /max_tokens|max_completion_tokens/.test(serverMessage) &&
      /unsupported|not supported|unrecognized|unknown|extra/i.test(serverMessage)
    ) {
      this.#quirks.swapMaxTokens = !this.#quirks.swapMaxTokens;
      return true;
    }
    return false;
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
