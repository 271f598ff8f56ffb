import { createParser } from 'eventsource-parser';

/** A frame longer than this is no answer of a model. In characters. */
const FRAME_LIMIT = 16 * 1024 * 1024;

/** Cuts bytes of an event stream into the payloads of its frames; any cut of the bytes gives the same payloads. */
export class SsePayloads {
  readonly #decoder = new TextDecoder('utf-8');
  readonly #ready: string[] = [];
  readonly #parser = createParser({ onEvent: (event) => this.#ready.push(event.data), maxBufferSize: FRAME_LIMIT });

  push(bytes: Uint8Array): string[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    return this.#ready.splice(0);
  }

  /** What stood at the end without the blank line that closes a frame. */
  end(): string[] {
    this.#parser.feed(`${this.#decoder.decode()}\n\n`);
    return this.#ready.splice(0);
  }
}

/** What the first bytes of a body look like, whatever its content type claims. `undefined`: too little to tell. */
export function sniffBody(head: string): 'events' | 'json' | 'html' | 'other' | undefined {
  const text = head.replace(/^\ufeff/, '').trimStart();
  if (text === '') return undefined;
  if (text.startsWith(':') || /^(data|event|id|retry)\s*:/.test(text)) return 'events';
  if (text[0] === '{' || text[0] === '[') return 'json';
  if (text[0] === '<') return 'html';
  if (text.length < 8 && ['data:', 'event:', 'id:', 'retry:'].some((field) => field.startsWith(text))) return undefined;
  return 'other';
}
