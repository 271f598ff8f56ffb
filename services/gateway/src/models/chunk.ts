import type { CallFragment } from './call-assembler.ts';
import type { ModelUsage } from './provider.types.ts';

/**
 * What one frame of an answer says, whatever shape it came in: an OpenAI chunk, a whole completion sent in one piece, or the
 * variations of relays (object arguments, content as a list of parts, the older `function_call`).
 */
export interface Chunk {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly CallFragment[];
  readonly finish: string | undefined;
  readonly usage: ModelUsage | undefined;
  /** The text is all so far (a `message` in place of a `delta`), not an addition. */
  readonly whole: boolean;
}

type Loose = Record<string, unknown>;

export function readChunk(frame: unknown): Chunk {
  const root = record(frame);
  const choices = Array.isArray(root.choices) ? root.choices.map(record) : [];
  // Only the first answer is asked for; others of a server that sends several are ignored.
  const choice = choices.find((candidate) => (candidate.index ?? 0) === 0) ?? {};
  const whole = choice.delta === undefined || choice.delta === null;
  const delta = record(whole ? choice.message : choice.delta);
  const { text, thought } = readContent(delta.content);
  return {
    text:
      text +
      (typeof delta.refusal === 'string' ? delta.refusal : '') +
      (typeof choice.text === 'string' ? choice.text : ''),
    // Servers in transition send both fields with the same words.
    reasoning: firstText(delta.reasoning_content, delta.reasoning) || thought,
    calls: readCalls(delta),
    finish: typeof choice.finish_reason === 'string' && choice.finish_reason !== '' ? choice.finish_reason : undefined,
    // Moonshot has it in the choice, Groq in a field of its own.
    usage: readUsage(root.usage) ?? readUsage(choice.usage) ?? readUsage(record(root.x_groq).usage),
    whole,
  };
}

/** The error that a frame carries instead of an answer, or undefined. Shapes of OpenAI, vLLM, Ollama, DashScope. */
export function readErrorFrame(
  frame: unknown,
): { message: string; type: string; status: number | undefined } | undefined {
  const root = record(frame);
  const error = root.error;
  if (typeof error === 'string' && error !== '') return { message: error, type: '', status: undefined };
  if (error && typeof error === 'object') {
    const said = describe(record(error));
    // Some relays carry an empty error object beside a good answer.
    return said.status === undefined && said.type === '' && said.message === '{}' && root.choices ? undefined : said;
  }
  if (root.choices !== undefined) return undefined;
  if (
    root.object === 'error' ||
    (typeof root.message === 'string' && root.message !== '' && (root.code !== undefined || root.type === 'error'))
  ) {
    return describe(root);
  }
  if (typeof root.detail === 'string') return { message: root.detail, type: '', status: undefined };
  return undefined;
}

function describe(error: Loose): { message: string; type: string; status: number | undefined } {
  const numeric = [error.status, error.code, error.http_status].map(Number).find((n) => n >= 400 && n < 600);
  const words = [error.code, error.type, error.param].filter((word) => typeof word === 'string').join(' ');
  const message = firstText(error.message, error.msg, error.detail);
  return { message: message || JSON.stringify(error), type: words, status: numeric };
}

function readCalls(delta: Loose): CallFragment[] {
  if (Array.isArray(delta.tool_calls)) {
    return delta.tool_calls.map((entry: unknown) => {
      const call = record(entry);
      return { index: readIndex(call.index), id: textOr(call.id), ...readFunction(call.function ?? call) };
    });
  }
  if (delta.function_call && typeof delta.function_call === 'object') {
    return [{ index: 0, id: '', ...readFunction(delta.function_call) }];
  }
  return [];
}

function readFunction(value: unknown): { name: string; arguments: string } {
  const fn = record(value);
  const given = fn.arguments ?? fn.parameters;
  const text = given === undefined || given === null ? '' : typeof given === 'string' ? given : JSON.stringify(given);
  return { name: textOr(fn.name).trim(), arguments: text };
}

function readIndex(value: unknown): number | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  const index = Number(value);
  return Number.isInteger(index) && index >= 0 ? index : undefined;
}

function readContent(content: unknown): { text: string; thought: string } {
  if (typeof content === 'string') return { text: content, thought: '' };
  let text = '';
  let thought = '';
  for (const entry of Array.isArray(content) ? content : []) {
    const part = record(entry);
    if (typeof part.text === 'string') text += part.text;
    else if (part.thinking !== undefined)
      thought += typeof part.thinking === 'string' ? part.thinking : readContent(part.thinking).text;
  }
  return { text, thought };
}

function readUsage(value: unknown): ModelUsage | undefined {
  const usage = record(value);
  const promptTokens = count(usage.prompt_tokens ?? usage.input_tokens);
  const completionTokens = count(usage.completion_tokens ?? usage.output_tokens);
  if (promptTokens === undefined && completionTokens === undefined) return undefined;
  return { promptTokens: promptTokens ?? 0, completionTokens: completionTokens ?? 0 };
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
const record = (value: unknown): Loose => (value !== null && typeof value === 'object' ? (value as Loose) : {});
const textOr = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
const firstText = (...values: unknown[]): string =>
  values.find((value): value is string => typeof value === 'string' && value !== '') ?? '';
