import { parseExact } from './exact-json.ts';

/**
 * Calls that a model wrote as text because its server has no parser for them (Qwen and Hermes under vLLM, Ollama templates):
 * `<tool_call>{"name": …, "arguments": …}</tool_call>`, or Qwen-Coder's `<function=…><parameter=…>` inside the same tags.
 * They count only as the end of an answer: markup followed by more text is talk about calls.
 */
export interface InlineCall {
  readonly name: string;
  readonly arguments: string;
}

export const OPEN_TAG = '<tool_call>';
export const CLOSE_TAG = '</tool_call>';
const FUNCTION_TAG = '<function=';
/** With so many characters of a body it is known whether it can be a call. */
const CAN_BEGIN = 32;

/** `open` = in the middle of a call, which needs another closing tag; `between` = after one; `text` = no calls, ever; else the calls. */
export type InlineReading = 'open' | 'between' | 'text' | readonly InlineCall[];

/** Reads a text that begins with the opening tag. `ended`: nothing will follow, so a missing last closing tag is forgiven. */
export function readInlineCalls(text: string, offered: ReadonlySet<string>, ended: boolean): InlineReading {
  const calls: InlineCall[] = [];
  let rest = text.trimStart();
  while (rest !== '') {
    if (!rest.startsWith(OPEN_TAG)) return !ended && OPEN_TAG.startsWith(rest) ? 'between' : 'text';
    const body = rest.slice(OPEN_TAG.length);
    if (!canBegin(body.trimStart())) return 'text';
    const close = closeOf(body, ended);
    if (close < 0 && !ended) return body.length < CAN_BEGIN ? 'between' : 'open';
    const inner = (close < 0 ? body : body.slice(0, close)).trim();
    const call = readBody(inner, offered, close >= 0);
    if (!call) return 'text';
    calls.push(call);
    rest = close < 0 ? '' : body.slice(close + CLOSE_TAG.length).trimStart();
  }
  if (!ended) return 'between';
  return calls.length > 0 ? calls : 'text';
}

const canBegin = (body: string): boolean =>
  body === '' || body.startsWith('{') || body.startsWith(FUNCTION_TAG) || FUNCTION_TAG.startsWith(body);

/** Where the closing tag stands, not counting one inside a string of the JSON. -1 when it is not there yet. */
function closeOf(body: string, ended: boolean): number {
  const start = body.search(/\S/);
  if (start < 0 || body[start] !== '{') return body.indexOf(CLOSE_TAG);
  const end = endOfObject(body, start);
  if (end >= 0) return body.indexOf(CLOSE_TAG, end);
  // Broken JSON never ends: once all is there, the last closing tag is the best that can be said.
  return ended ? body.lastIndexOf(CLOSE_TAG) : -1;
}

function endOfObject(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === '\\') i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return i + 1;
  }
  return -1;
}

function readBody(inner: string, offered: ReadonlySet<string>, closed: boolean): InlineCall | undefined {
  if (inner.startsWith(FUNCTION_TAG)) return closed ? readFunctionTags(inner, offered) : undefined;
  if (!inner.startsWith('{')) return undefined;
  try {
    const value = parseExact(inner) as { name?: unknown; arguments?: unknown; parameters?: unknown };
    if (typeof value.name !== 'string' || !offered.has(value.name)) return undefined;
    const given = value.arguments ?? value.parameters ?? {};
    return { name: value.name, arguments: typeof given === 'string' ? given : JSON.stringify(given) };
  } catch {
    // A call with broken JSON: handed on as it is, so that the model is told what is wrong with it.
    const name = /^\{\s*"name"\s*:\s*"([^"\\]+)"/.exec(inner)?.[1];
    return closed && name && offered.has(name) ? { name, arguments: inner } : undefined;
  }
}

function readFunctionTags(inner: string, offered: ReadonlySet<string>): InlineCall | undefined {
  const match = /^<function=([^>\s]+)>([\s\S]*)<\/function>$/.exec(inner);
  const name = match?.[1];
  if (!match || !name || !offered.has(name)) return undefined;
  const values: Record<string, string> = {};
  let rest = match[2]!.trim();
  while (rest !== '') {
    const parameter = /^<parameter=([^>\s]+)>\n?([\s\S]*?)\n?<\/parameter>\s*(?=<parameter=|$)/.exec(rest);
    if (!parameter || Object.hasOwn(values, parameter[1]!)) return undefined;
    values[parameter[1]!] = parameter[2]!;
    rest = rest.slice(parameter[0].length);
  }
  return { name, arguments: JSON.stringify(values) };
}
