import { createHash } from 'node:crypto';
import type { CountKind, ModelMessage, ModelTool, TokenMeasure } from './provider.types.ts';
import { TokenWorker } from './token-worker.ts';

/** Tokens of the frame around every message and every request (OpenAI's cookbook; other chat templates are of the same size). */
const PER_MESSAGE = 4;
const PER_CALL = 8;
const PER_TOOL = 12;
const BASE = 3;

/** Letters in one run before it is cut: byte-pair merging is quadratic in a run, 20,000 equal characters take 3 s. */
const RUN_LIMIT = 500;
const LONG_RUNS = /[\p{L}\p{M}]{501,}|[^\s\p{L}\p{M}\p{N}]{501,}|\s{501,}/gu;
/** Texts shorter than this are their own key. In characters. */
const HASH_FROM = 200;
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

/** Loaded when something is first counted, shared by all models. */
const worker = new TokenWorker();

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
    const raw = await this.#count(messages, tools);
    const ratio = this.#ratio;
    const scaled = (tokens: number): number => Math.ceil(tokens * ratio);
    const perMessage = raw.messages.map(scaled);
    const [toolTokens, base] = [scaled(raw.tools), scaled(BASE)];
    const tokens = base + toolTokens + perMessage.reduce(sum, 0);
    return { kind: this.kind, tokens, messages: perMessage, tools: toolTokens, base };
  }

  /** Takes the server's own count of a request. Ratios that no tokenizer explains (a server that counts otherwise) are left out. */
  async learn(messages: readonly ModelMessage[], tools: readonly ModelTool[], promptTokens: number): Promise<void> {
    if (promptTokens <= 0) return;
    const counted = await this.#count(messages, tools);
    const raw = BASE + counted.tools + counted.messages.reduce(sum, 0);
    const ratio = promptTokens / raw;
    if (raw < 50 || ratio < 0.5 || ratio > 3) return;
    this.#ratios.push(ratio);
    if (this.#ratios.length > RATIOS) this.#ratios.shift();
  }

  async #count(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
  ): Promise<{ messages: number[]; tools: number }> {
    const parts = [...messages.map(partsOfMessage), partsOfTools(tools)];
    const counts = await this.#ofTexts(parts.flatMap(({ texts }) => texts));
    const sums = parts.map(({ frame, texts }) => texts.reduce((tokens, text) => tokens + counts.get(text)!, frame));
    return { tools: sums.pop()!, messages: sums };
  }

  /** Tokens of each text; what was counted before is not counted again. */
  async #ofTexts(texts: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const fresh = new Map<string, string>();
    for (const text of new Set(texts)) {
      const key = keyOf(text);
      const known = this.#cache.get(key);
      if (known === undefined) fresh.set(text, key);
      else counts.set(text, known);
    }
    const pieces = [...fresh.keys()].map(cutRuns);
    const tokens = await worker.count(pieces.flat());
    let at = 0;
    for (const [i, [text, key]] of [...fresh].entries()) {
      const total = tokens.slice(at, at + pieces[i]!.length).reduce(sum, 0);
      at += pieces[i]!.length;
      counts.set(text, total);
      if (this.#cache.size >= CACHE_ENTRIES) this.#cache.delete(this.#cache.keys().next().value!);
      this.#cache.set(key, total);
    }
    return counts;
  }
}

const sum = (a: number, b: number): number => a + b;

/** What a message consists of: tokens of its frame, and the texts to count. */
function partsOfMessage(message: ModelMessage): { frame: number; texts: string[] } {
  if (message.role === 'tool') return { frame: PER_MESSAGE + PER_CALL, texts: [message.content] };
  if (message.role !== 'assistant') return { frame: PER_MESSAGE, texts: [message.content] };
  const calls = message.calls ?? [];
  const reasoning = message.reasoning && calls.length > 0 ? [message.reasoning] : [];
  const texts = [message.content, ...calls.flatMap((call) => [call.name, call.arguments]), ...reasoning];
  return { frame: PER_MESSAGE + calls.length * PER_CALL, texts };
}

function partsOfTools(tools: readonly ModelTool[]): { frame: number; texts: string[] } {
  const texts = tools.map((tool) => `${tool.name}\n${tool.description}\n${JSON.stringify(tool.parameters)}`);
  return { frame: tools.length * PER_TOOL, texts };
}

/** Long texts are known by their hash, so that a long history is not kept a second time. */
function keyOf(text: string): string {
  return text.length < HASH_FROM ? `=${text}` : createHash('sha256').update(text).digest('base64');
}

/** The text in pieces whose tokens add up to its own, at most one too many for each cut of a long run. */
function cutRuns(text: string): string[] {
  if (text.length <= RUN_LIMIT) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUNS)) {
    for (let at = index; at < index + run.length; at += RUN_LIMIT) {
      pieces.push(text.slice(from, at));
      from = at;
    }
  }
  return [...pieces, text.slice(from)];
}
