/** A call that a model asked for. `id` is the model server's own (or made up where it sent none), never one of ours. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote it: usually the text of a JSON object, sometimes not even JSON. Judged by the tools, not here. */
  readonly arguments: string;
}

/** One entry of what a model is sent. A call and the results that answer it are sent together or not at all. */
export type ModelMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string;
      /** What the model thought; sent back only to servers that ask for it. */
      readonly reasoning?: string;
      readonly calls?: readonly ModelCall[];
    }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly content: string };

/** A tool as a model sees it. `parameters` is a JSON Schema of an object. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export type FinishReason = 'stop' | 'tool_calls' | 'length';

/** What a streamed answer consists of. `call` is whole and final; `end` is the last event of every good answer. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'call'; readonly call: ModelCall }
  | { readonly type: 'end'; readonly finishReason: FinishReason; readonly usage?: ModelUsage };

export interface ModelAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  readonly finishReason: FinishReason;
  readonly usage?: ModelUsage;
}

export interface ChatOptions {
  /** Aborting closes the connection to the model server at once; the call then throws `signal.reason`. */
  readonly signal?: AbortSignal;
  /** Bound on the answer, in tokens. */
  readonly maxTokens?: number;
}

/** How sure a count is: the model's own tokenizer, a ratio learnt from the server's counts, or an upper bound. */
export type CountKind = 'exact' | 'calibrated' | 'bound';

/** Tokens of a request, part by part, so that a caller can leave out messages and still know the sum. */
export interface TokenMeasure {
  readonly kind: CountKind;
  /** Sum of everything below. */
  readonly tokens: number;
  /** One number per message, in order. */
  readonly messages: readonly number[];
  readonly tools: number;
  /** What every request costs. */
  readonly base: number;
}

/**
 * A model on a server of the OpenAI protocol. Failures are AppErrors (`model_*`, `context_overflow`), thrown after the events
 * that had already arrived; nothing is tried again once an event was delivered.
 */
export interface ModelProvider {
  streamChat(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    options?: ChatOptions,
  ): AsyncIterable<ModelEvent>;
  chat(messages: readonly ModelMessage[], tools: readonly ModelTool[], options?: ChatOptions): Promise<ModelAnswer>;
  countTokens(messages: readonly ModelMessage[], tools: readonly ModelTool[]): Promise<number>;
  measure(messages: readonly ModelMessage[], tools: readonly ModelTool[]): Promise<TokenMeasure>;
}
