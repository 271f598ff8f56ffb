import { JSON_KIND, type ShapeBuilder } from './json-shape.ts';

/** Nesting that real data never has and that would only cost memory. Python's own limit is near 1,000. */
const DEEPEST = 500;
/** A number or word longer than this is none; of a key this much is kept. */
const LONGEST_TOKEN = 400;

const [QUOTE, BACKSLASH, COMMA, COLON] = [34, 92, 44, 58];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [123, 125, 91, 93];
const NUMBER = /^-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
/** Python writes and reads these three; strict JSON has no word for them. */
const NOT_FINITE = new Set(['NaN', 'Infinity', '-Infinity']);

/** What may come next. */
type Expect = 'value' | 'value_or_close' | 'key' | 'key_or_close' | 'colon' | 'comma_or_close' | 'end';

/** Reads one JSON value from pieces of text and tells a shape what it sees. It makes no values, so no digit is ever rounded. */
export class JsonScanner {
  readonly #shape: ShapeBuilder;
  readonly #depth: boolean[] = [];
  #expect: Expect = 'value';
  #string: { key: boolean; text: string; escape: boolean } | null = null;
  #token = '';
  /** Where it went wrong, in characters from the start; null while all is well. */
  error: number | null = null;
  notFinite = false;
  #offset = 0;

  constructor(shape: ShapeBuilder) {
    this.#shape = shape;
  }

  /** True once the value is complete; only blanks may follow. */
  get complete(): boolean {
    return this.#expect === 'end' && this.error === null;
  }

  /** Position in the piece where it stopped: its length, or where text follows the complete value or breaks the grammar. */
  push(piece: string): number {
    let position = 0;
    while (position < piece.length && this.error === null) {
      if (this.#string) position = this.#readString(piece, position);
      else {
        const code = piece.charCodeAt(position);
        if (code === 32 || code === 10 || code === 13 || code === 9) {
          this.#endToken(position);
          position += 1;
        } else if (this.#expect === 'end' && this.#token === '') return position;
        else position = this.#readOther(piece, position, code);
      }
    }
    this.#offset += piece.length;
    return position;
  }

  /** Call at the end of the text. True when there was one complete value. */
  finish(): boolean {
    this.#endToken(0);
    if (!this.complete && this.error === null) this.error = this.#offset;
    return this.complete;
  }

  /** True where the text is one whole value and nothing else. */
  accepts(text: string): boolean {
    const stopped = this.push(text);
    return this.finish() && stopped === text.length;
  }

  #fail(position: number): void {
    this.error ??= this.#offset + position;
  }

  #readString(piece: string, from: number): number {
    const string = this.#string!;
    let position = from;
    while (position < piece.length) {
      const code = piece.charCodeAt(position);
      if (string.escape) string.escape = false;
      else if (code === BACKSLASH) string.escape = true;
      else if (code === QUOTE) {
        this.#keepKey(string, piece, from, position);
        this.#endString(string);
        return position + 1;
      } else if (code < 32) {
        this.#fail(position);
        return position;
      }
      position += 1;
    }
    this.#keepKey(string, piece, from, position);
    return position;
  }

  #keepKey(string: { key: boolean; text: string }, piece: string, from: number, to: number): void {
    if (string.key && string.text.length < LONGEST_TOKEN)
      string.text += piece.slice(from, Math.min(to, from + LONGEST_TOKEN));
  }

  #endString(string: { key: boolean; text: string }): void {
    this.#string = null;
    if (string.key) {
      this.#shape.key(string.text.includes('\\') ? unescaped(string.text) : string.text);
      this.#expect = 'colon';
    } else {
      this.#shape.value(JSON_KIND.string);
      this.#after();
    }
  }

  #readOther(piece: string, position: number, code: number): number {
    if (code === QUOTE || code === COMMA || code === COLON || isBracket(code)) {
      this.#endToken(position);
      if (this.error === null) this.#sign(code, position);
      return position + 1;
    }
    if (this.#token === '' && !this.#wantsValue()) this.#fail(position);
    if (this.#token.length > LONGEST_TOKEN) this.#fail(position);
    let end = position + 1;
    while (end < piece.length && end - position < LONGEST_TOKEN && isTokenCharacter(piece.charCodeAt(end))) end += 1;
    this.#token += piece.slice(position, end);
    return end;
  }

  #wantsValue(): boolean {
    return this.#expect === 'value' || this.#expect === 'value_or_close';
  }

  #sign(code: number, position: number): void {
    const expect = this.#expect;
    if (code === QUOTE) {
      const key = expect === 'key' || expect === 'key_or_close';
      if (key || this.#wantsValue()) this.#string = { key, text: '', escape: false };
      else this.#fail(position);
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (!this.#wantsValue() || this.#depth.length >= DEEPEST) {
        this.#fail(position);
        return;
      }
      this.#shape.open(code === OPEN_BRACKET);
      this.#depth.push(code === OPEN_BRACKET);
      this.#expect = code === OPEN_BRACKET ? 'value_or_close' : 'key_or_close';
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      const closes =
        expect === 'comma_or_close' || expect === (code === CLOSE_BRACKET ? 'value_or_close' : 'key_or_close');
      if (!closes || this.#depth.at(-1) !== (code === CLOSE_BRACKET)) {
        this.#fail(position);
        return;
      }
      this.#depth.pop();
      this.#shape.close();
      this.#after();
    } else if (code === COMMA && expect === 'comma_or_close') this.#expect = this.#depth.at(-1) ? 'value' : 'key';
    else if (code === COLON && expect === 'colon') this.#expect = 'value';
    else this.#fail(position);
  }

  #endToken(position: number): void {
    if (this.#token === '') return;
    const token = this.#token;
    this.#token = '';
    const number = NUMBER.exec(token);
    if (number) {
      const integer = number[1] === undefined && number[2] === undefined;
      this.#shape.value(
        integer ? JSON_KIND.integer : JSON_KIND.number,
        integer && !Number.isSafeInteger(Number(token)),
      );
    } else if (token === 'true' || token === 'false') this.#shape.value(JSON_KIND.boolean);
    else if (token === 'null') this.#shape.value(JSON_KIND.null);
    else if (NOT_FINITE.has(token)) {
      this.notFinite = true;
      this.#shape.value(JSON_KIND.number);
    } else {
      this.#fail(position);
      return;
    }
    this.#after();
  }

  #after(): void {
    this.#expect = this.#depth.length === 0 ? 'end' : 'comma_or_close';
  }
}

const isBracket = (code: number) =>
  code === OPEN_BRACE || code === CLOSE_BRACE || code === OPEN_BRACKET || code === CLOSE_BRACKET;

/** Letters, digits, signs and points: anything but blanks, quotes and the signs of JSON. */
function isTokenCharacter(code: number): boolean {
  return code > 32 && code !== QUOTE && code !== COMMA && code !== COLON && !isBracket(code);
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
