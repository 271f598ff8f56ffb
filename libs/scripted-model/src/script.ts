/** One thing a scripted answer does, in order. */
export type Step =
  /** Words, in pieces of `piece` characters (3) with `delayMs` (0) between them. */
  | { readonly text: string; readonly piece?: number; readonly delayMs?: number }
  | { readonly reasoning: string; readonly piece?: number; readonly delayMs?: number }
  /** A tool call; `arguments` as an object is written as JSON, as a string it goes out as it is. Whole without `piece`. */
  | {
      readonly call: {
        readonly name: string;
        readonly arguments: unknown;
        readonly id?: string;
        readonly index?: number;
      };
      readonly piece?: number;
      readonly delayMs?: number;
    }
  | { readonly waitMs: number }
  /** Nothing more comes until the client leaves. */
  | { readonly hang: true }
  /** The connection breaks. */
  | { readonly cut: true };

/** What the server does with one request. */
export type Reply =
  /** An answer in the protocol, streamed or whole as the request asks. `finishReason: null` leaves it out, and `[DONE]` with it. */
  | { readonly steps: readonly Step[]; readonly finishReason?: string | null; readonly delayMs?: number }
  /** Any HTTP answer: an error status with `Retry-After`, an HTML page, JSON of another shape. */
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: unknown;
      readonly delayMs?: number;
    }
  /** A whole event stream as recorded from another server, in pieces of `piece` bytes (all at once). */
  | { readonly sse: string; readonly piece?: number; readonly delayMs?: number; readonly cut?: boolean };

/** A chat request as far as scripts look into it. */
export interface ChatRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters?: unknown } }[];
  readonly [other: string]: unknown;
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

/** A rule applies when everything it names is so; the first that applies answers. */
export interface Rule {
  /** Found in the text of the last user message. */
  readonly user?: string | RegExp;
  /** Found in the last message, which must be a tool result. `false`: the last message is no tool result. */
  readonly tool?: string | RegExp | boolean;
  readonly model?: string;
  /** How many times the rule answers before the next ones are looked at. */
  readonly times?: number;
  readonly reply: Reply | ((request: ChatRequest) => Reply);
}

export type Script = readonly Rule[];

/** The reply of the first rule that applies, or undefined. `used` counts the answers of each rule. */
export function chooseReply(script: Script, request: ChatRequest, used: Map<Rule, number>): Reply | undefined {
  for (const rule of script) {
    const count = used.get(rule) ?? 0;
    if (count >= (rule.times ?? Number.POSITIVE_INFINITY) || !applies(rule, request)) continue;
    used.set(rule, count + 1);
    return typeof rule.reply === 'function' ? rule.reply(request) : rule.reply;
  }
  return undefined;
}

function applies(rule: Rule, request: ChatRequest): boolean {
  const last = request.messages.at(-1);
  const toolText = last?.role === 'tool' ? textOf(last) : undefined;
  if (rule.model !== undefined && rule.model !== request.model) return false;
  if (rule.user !== undefined && !found(rule.user, lastUserText(request))) return false;
  if (rule.tool === undefined) return true;
  if (typeof rule.tool === 'boolean') return rule.tool === (toolText !== undefined);
  return toolText !== undefined && found(rule.tool, toolText);
}

function found(pattern: string | RegExp, text: string): boolean {
  return typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text);
}

/** The text of a message, whether it is a string or a list of parts. */
export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('');
}

export function lastUserText(request: ChatRequest): string {
  return textOf(request.messages.findLast((message) => message.role === 'user'));
}
