import { AppError, type ErrorCode } from '@moli/errors';
import type { Agent } from 'undici';
import { newId } from '../ids.ts';
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
import { SsePayloads, sniffBody } from './sse-payloads.ts';
import { StreamAssembler } from './stream-assembler.ts';
import { TokenCounter } from './token-counter.ts';

/** Tries in all, and the waits before the second and third (milliseconds, ± half). */
const BACK_OFF_MS = [500, 2000];
/** A server that asks for a longer wait gets its refusal passed on instead. */
const LONGEST_WAIT_SECONDS = 20;
/** After the reason for the end only the usage may follow; servers that never close get no longer than this. */
const TAIL_MS = 3000;
const BODY_LIMIT = 16 * 1024 * 1024;
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
    this.client = new ModelClient(options.server, options.agent);
    this.#model = options.server.model;
    this.#timeouts = options.timeouts ?? MODEL_TIMEOUTS;
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
      for await (const event of this.#retried(messages, tools, options)) {
        if (event.type === 'end') {
          outcome = 'ok';
          if (event.usage) this.#settle(messages, tools, event.usage);
        }
        yield event;
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
  ): AsyncGenerator<ModelEvent> {
    const started = performance.now();
    let delivered = false;
    for (let tries = 0; ; tries++) {
      try {
        for await (const event of this.#once(messages, tools, options)) {
          if (!delivered) this.#observer.firstToken?.((performance.now() - started) / 1000);
          delivered = true;
          yield event;
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
  ): AsyncGenerator<ModelEvent> {
    const answer = await this.#open(messages, tools, options);
    const assembler = new StreamAssembler({ offered: tools.map((tool) => tool.name), newId: () => newId('call') });
    let broken: unknown;
    try {
      for await (const events of this.#read(answer, assembler)) yield* events;
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
    yield* events;
    if (fault)
      throw broken !== undefined && fault.code === 'model_cut' ? this.#faultOfBreak(broken) : this.#cleaned(fault);
  }

  /** An error's words may repeat the key that was sent. */
  #cleaned(fault: AppError): AppError {
    const words = fault.fields.serverMessage;
    if (typeof words !== 'string' || this.client.scrub(words) === words) return fault;
    return modelError(fault.code, this.client.scrub(fault.detail.zh), this.client.scrub(fault.detail.en), {
      cause: fault,
    });
  }

  #faultOfBreak(thrown: unknown): AppError {
    if (thrown instanceof IdleTimeout) {
      return modelError(
        'model_timeout',
        `模型服务超过 ${Math.round(this.#timeouts.idleMs / 1000)} 秒没有继续回答，已收到的部分保留。可以点“继续”，或稍后重试。`,
        `The model server sent nothing for ${Math.round(this.#timeouts.idleMs / 1000)} s; what had arrived is kept. Use "continue" or try again later.`,
        { cause: thrown },
      );
    }
    return cutError(thrown);
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

  /** Events of the body, whatever it turns out to be: a stream, a whole JSON answer, or a web page. */
  async *#read(answer: Answer, assembler: StreamAssembler): AsyncGenerator<ModelEvent[]> {
    const idleMs = () => (assembler.finishSeen ? Math.min(TAIL_MS, this.#timeouts.idleMs) : this.#timeouts.idleMs);
    const payloads = new SsePayloads();
    const head: Buffer[] = [];
    let kind: ReturnType<typeof sniffBody>;
    for await (const piece of pieces(answer, idleMs)) {
      if (kind === 'events') yield payloads.push(piece).flatMap((payload) => assembler.push(payload));
      else {
        head.push(piece);
        if (head.reduce((sum, part) => sum + part.length, 0) > BODY_LIMIT) throw this.#notAModel('other', '');
        kind ??= sniffBody(Buffer.concat(head).toString('utf8'));
        if (kind === 'html' || kind === 'other') throw this.#notAModel(kind, Buffer.concat(head).toString('utf8'));
        if (kind === 'events') yield payloads.push(Buffer.concat(head)).flatMap((payload) => assembler.push(payload));
      }
      if (assembler.ended) return;
    }
    if (kind === 'json') yield this.#whole(Buffer.concat(head).toString('utf8'), assembler);
    // A frame without its blank line counts when it is whole; half a frame is a cut.
    else
      for (const payload of payloads.end()) if (payload === '[DONE]' || isJson(payload)) yield assembler.push(payload);
  }

  #whole(text: string, assembler: StreamAssembler): ModelEvent[] {
    let events: ModelEvent[] = [];
    if (isJson(text)) events = assembler.push(text);
    else throw this.#notAModel('other', text);
    if (!assembler.ended) assembler.push('[DONE]');
    return events;
  }

  #notAModel(kind: 'html' | 'other', head: string): AppError {
    return kind === 'html'
      ? modelError(
          'model_bad_answer',
          `${this.client.endpoint.shown} 返回的是网页（HTML），不是模型接口。请检查服务地址，通常以 /v1 结尾。`,
          `${this.client.endpoint.shown} answers with a web page (HTML), not as a model server. Check the base URL; it usually ends with /v1.`,
        )
      : modelError(
          'model_bad_answer',
          `${this.client.endpoint.shown} 的回答不是 OpenAI 协议。请检查服务地址指向的是模型接口。`,
          `${this.client.endpoint.shown} does not answer in the OpenAI protocol. Check that the address is that of a model server.`,
          { server: this.client.scrub(head.slice(0, 500)) },
        );
  }
}

class IdleTimeout extends Error {}

/** The pieces of a body; breaks with IdleTimeout when the next one takes longer than `idleMs` says at that moment. */
async function* pieces(answer: Answer, idleMs: () => number): AsyncGenerator<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    clearTimeout(timer);
    timer = setTimeout(() => answer.body.destroy(new IdleTimeout()), idleMs());
  };
  try {
    arm();
    for await (const piece of answer.body.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      yield piece as Buffer;
      arm();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Lets the few bytes after [DONE] pass, so that the connection can be used again. */
function drain(answer: Answer): void {
  const timer = setTimeout(() => answer.body.destroy(), 1000);
  answer.body.once('close', () => clearTimeout(timer));
  answer.body.resume();
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
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
