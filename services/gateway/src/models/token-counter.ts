import { createHash } from 'node:crypto';
import type { CountKind, ModelMessage, ModelTool, TokenMeasure } from './provider.types.ts';

type Encoding = typeof import('gpt-tokenizer/encoding/o200k_base');

/** Tokens of the frame around every message and every request (OpenAI's cookbook; other chat templates are of the same size). */
const PER_MESSAGE = 4;
const PER_CALL = 8;
const PER_TOOL = 12;
const BASE = 3;

/** Letters in one run before it is cut: byte-pair merging is quadratic in a run, 20,000 equal characters take 3 s. */
const RUN_LIMIT = 500;
const LONG_RUNS = /[\p{L}\p{M}]{501,}|[^\s\p{L}\p{M}\p{N}]{501,}|\s{501,}/gu;
/** Texts shorter than this are counted faster than they are hashed. In characters. */
const CACHE_FROM = 200;
const CACHE_ENTRIES = 5000;

/** Models whose tokenizer is o200k itself. */
const O200K = /^(openai\/)?(gpt-(4o|4\.1|4\.5|5|oss)|o\d|chatgpt)/i;
/**
 * How many tokens of a family one o200k token can be, measured on Chinese, English, code and JSON with digits: Qwen takes digits
 * one by one (0.58 against 0.46 a character), DeepSeek never needs more. Everything else gets the bound of the worst.
 */
const FACTORS: readonly { pattern: RegExp; factor: number }[] = [
  { pattern: /deepseek/i, factor: 1.15 },
  { pattern: /qwen|qwq/i, factor: 1.35 },
];
const UNKNOWN_FACTOR = 1.35;

/** Ratios kept for calibration, and what is added to the highest of them. */
const RATIOS = 20;
const CALIBRATION_MARGIN = 1.03;
/** Difference to a server's count up to which a count is called exact: frames of messages vary by a token or two. */
const EXACT_WITHIN = 0.01;

let encoding: Promise<Encoding> | undefined;
/** The vocabulary takes about 76 MB and 0.2 s: loaded when something is first counted. */
const loadEncoding = (): Promise<Encoding> => {
  encoding ??= import('gpt-tokenizer/encoding/o200k_base');
  return encoding;
};

/** Counts what a request costs in a model's tokens; learns from the counts that its server reports. */
export class TokenCounter {
  readonly #exact: boolean;
  readonly #factor: number;
  readonly #ratios: number[] = [];
  readonly #cache = new Map<string, number>();

  constructor(model: string) {
    this.#exact = O200K.test(model);
    this.#factor = this.#exact ? 1 : (FACTORS.find(({ pattern }) => pattern.test(model))?.factor ?? UNKNOWN_FACTOR);
  }

  /** A known tokenizer counts exactly until its server says otherwise: behind one name may stand another template. */
  get kind(): CountKind {
    if (this.#exact && this.#ratios.every((ratio) => Math.abs(ratio - 1) < EXACT_WITHIN)) return 'exact';
    return this.#ratios.length > 0 ? 'calibrated' : 'bound';
  }

  get #ratio(): number {
    return this.kind === 'calibrated' ? Math.max(...this.#ratios) * CALIBRATION_MARGIN : this.#factor;
  }

  async measure(messages: readonly ModelMessage[], tools: readonly ModelTool[]): Promise<TokenMeasure> {
    const { countTokens } = await loadEncoding();
    const ratio = this.#ratio;
    const scaled = (raw: number): number => Math.ceil(raw * ratio);
    const perMessage = messages.map((message) => scaled(this.#ofMessage(message, countTokens)));
    const toolTokens = scaled(this.#ofTools(tools, countTokens));
    const base = scaled(BASE);
    const tokens = base + toolTokens + perMessage.reduce((sum, n) => sum + n, 0);
    return { kind: this.kind, tokens, messages: perMessage, tools: toolTokens, base };
  }

  /** Takes the server's own count of a request. Ratios that no tokenizer explains (a server that counts otherwise) are left out. */
  async learn(messages: readonly ModelMessage[], tools: readonly ModelTool[], promptTokens: number): Promise<void> {
    if (promptTokens <= 0) return;
    const { countTokens } = await loadEncoding();
    const raw = messages.reduce(
      (sum, m) => sum + this.#ofMessage(m, countTokens),
      BASE + this.#ofTools(tools, countTokens),
    );
    const ratio = promptTokens / raw;
    if (raw < 50 || ratio < 0.5 || ratio > 3) return;
    this.#ratios.push(ratio);
    if (this.#ratios.length > RATIOS) this.#ratios.shift();
  }

  #ofMessage(message: ModelMessage, count: Encoding['countTokens']): number {
    let tokens = PER_MESSAGE + this.#ofText(message.content, count);
    if (message.role === 'tool') tokens += PER_CALL;
    if (message.role !== 'assistant') return tokens;
    for (const call of message.calls ?? []) {
      tokens += PER_CALL + this.#ofText(call.name, count) + this.#ofText(call.arguments, count);
    }
    return message.reasoning && message.calls?.length ? tokens + this.#ofText(message.reasoning, count) : tokens;
  }

  #ofTools(tools: readonly ModelTool[], count: Encoding['countTokens']): number {
    return tools.reduce((sum, tool) => {
      const text = `${tool.name}\n${tool.description}\n${JSON.stringify(tool.parameters)}`;
      return sum + PER_TOOL + this.#ofText(text, count);
    }, 0);
  }

  #ofText(text: string, count: Encoding['countTokens']): number {
    if (text.length < CACHE_FROM) return countText(text, count);
    const key = createHash('sha256').update(text).digest('base64');
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const tokens = countText(text, count);
    if (this.#cache.size >= CACHE_ENTRIES) this.#cache.delete(this.#cache.keys().next().value!);
    this.#cache.set(key, tokens);
    return tokens;
  }
}

/** Tokens of a text in o200k; at most one too many for each cut of a long run. Marks like <|endoftext|> are text here. */
function countText(text: string, count: Encoding['countTokens']): number {
  const options = { disallowedSpecial: new Set<string>() };
  if (text.length <= RUN_LIMIT) return count(text, options);
  let tokens = 0;
  let from = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUNS)) {
    for (let at = index; at < index + run.length; at += RUN_LIMIT) {
      tokens += count(text.slice(from, at), options);
      from = at;
    }
  }
  return tokens + count(text.slice(from), options);
}
