import { parseExact } from '../models/exact-json.ts';
import type { Words } from './argument-faults.ts';

type Arguments = Record<string, unknown>;

/** What the text of a call's arguments is: an object, or why not. */
export type ReadText = { readonly value: Arguments } | { readonly fault: Words };

/**
 * Reads the arguments of a call from what models write where a JSON object is asked for: the object, its text once more in quotes,
 * a code fence around it, escaped line breaks between the tokens, raw line breaks inside strings, a comma too many, or (for a tool with
 * one `codeArgument`) the bare program. Big integers keep every digit. A text with two readings is refused, never guessed.
 */
export function readArgumentsText(raw: string | object, codeArgument?: string): ReadText {
  if (typeof raw !== 'string') return isObject(raw) ? { value: raw } : { fault: NOT_AN_OBJECT };
  const text = raw.replace(/^\ufeff/, '').trim();
  if (text === '') return { value: {} };
  const parsed = parseLoose(text);
  if (parsed !== undefined) return readValue(parsed.value, codeArgument);
  const fenced = /^```([\w+-]*)[ \t]*\n([\s\S]*?)\n?```$/.exec(text);
  if (fenced && !fenced[2]!.includes('\n```')) {
    const inner = parseLoose(fenced[2]!.trim());
    if (inner !== undefined && isObject(inner.value)) return { value: inner.value };
    if (codeArgument && /^(python|py|python3)?$/i.test(fenced[1]!)) return { value: { [codeArgument]: fenced[2]! } };
  }
  const twice = sameObjectTwice(text);
  if (twice) return { value: twice };
  // Whatever begins like JSON was meant as JSON: cut or broken, it must not run as a program.
  if (codeArgument && !/^[{["'`<]/.test(text)) return { value: { [codeArgument]: raw } };
  return { fault: faultOf(text) };
}

const NOT_AN_OBJECT: Words = { zh: '必须是一个 JSON 对象', en: 'must be a JSON object' };
const CUT: Words = {
  zh: '是不完整的 JSON：文本在中间断了。请重新发送整个 JSON 对象；如果太长，请缩短内容',
  en: 'is not complete JSON: the text ends in the middle. Send the whole JSON object again, with shorter content if it was too long',
};

function readValue(value: unknown, codeArgument: string | undefined): ReadText {
  if (isObject(value)) return { value };
  if (typeof value !== 'string') return { fault: NOT_AN_OBJECT };
  const inner = parseLoose(value.trim());
  if (inner !== undefined && isObject(inner.value)) return { value: inner.value };
  // A quoted text that is no JSON: the program in quotes, unless it looks like a broken object.
  if (codeArgument && inner === undefined && !/^\s*[{[]/.test(value)) return { value: { [codeArgument]: value } };
  return { fault: NOT_AN_OBJECT };
}

/** The value of a text that is JSON, or JSON but for repairs that leave one reading; undefined for anything else. */
function parseLoose(text: string): { value: unknown } | undefined {
  return tryParse(text) ?? tryParse(repairTokens(text));
}

function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: parseExact(text) };
  } catch {
    return undefined;
  }
}

/** Outside strings: `\n`, `\t`, `\r` written as two characters become white space, a comma before a closing bracket goes. Inside: raw control characters are escaped. */
function repairTokens(text: string): string {
  let out = '';
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (inString) {
      if (char === '\\') out += char + (text[++i] ?? '');
      else if (char === '"') {
        inString = false;
        out += char;
      } else out += char < ' ' ? JSON.stringify(char).slice(1, -1) : char;
    } else if (char === '"') {
      inString = true;
      out += char;
    } else if (char === '\\' && /[ntr]/.test(text[i + 1] ?? '')) {
      out += ' ';
      i++;
    } else if (char === ',' && /^(\s|\\[ntr])*[}\]]/.test(text.slice(i + 1, i + 200))) out += ' ';
    else out += char;
  }
  return out;
}

/** `{…}{…}` with the same object twice is one call that a relay repeated; two different objects have two readings. */
function sameObjectTwice(text: string): Arguments | undefined {
  const half = text.length / 2;
  for (const cut of [Math.floor(half), Math.ceil(half)]) {
    const [a, b] = [text.slice(0, cut).trim(), text.slice(cut).trim()];
    if (a !== b || !a.startsWith('{')) continue;
    const parsed = tryParse(a);
    if (parsed && isObject(parsed.value)) return parsed.value;
  }
  return undefined;
}

function faultOf(text: string): Words {
  try {
    JSON.parse(text);
    return NOT_AN_OBJECT;
  } catch (error) {
    if (/^[{[]/.test(text) && /Unterminated|end of JSON|Unexpected end/i.test(String(error))) return CUT;
    return {
      // The parser's own words are English; what helps is how to send it right.
      zh: '不是有效的 JSON。请发送一个 JSON 对象，使用双引号，换行要转义',
      en: `is not valid JSON (${(error as Error).message.slice(0, 120)}). Send one JSON object with double quotes and escaped line breaks`,
    };
  }
}

export function isObject(value: unknown): value is Arguments {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
