import { exactDigits, MAYBE_LOSSY, parseExact } from '../models/exact-json.ts';

/** What Postgres' jsonb refuses: the NUL character and half a surrogate pair. One such event would fail the flush of every session. */
const SUSPECT = /\\u0000|\\ud[89a-f]/i;

/** Text that can be stored: NUL and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\u0000') ? whole.replaceAll('\u0000', '\ufffd') : whole;
}

function deepClean(value: unknown): unknown {
  const digits = exactDigits(value);
  if (digits !== undefined) return digits;
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(deepClean);
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), deepClean(inner)]));
  }
  return value;
}

/**
 * A value as the log keeps it: what JSON holds, every string storable. A number that readers would round (an order id above 2^53) becomes a string with
 * all its digits.
 */
export function storableData(value: object): Record<string, unknown> {
  const text = JSON.stringify(value);
  const plain = parseExact(text);
  return (SUSPECT.test(text) || MAYBE_LOSSY.test(text) ? deepClean(plain) : plain) as Record<string, unknown>;
}

/**
 * Cleans a text that arrives in pieces. Half a surrogate pair at the end of a piece waits for its other half, so that a character cut in two by
 * the model server comes out whole.
 */
export class StorablePieces {
  #held = '';

  /** The storable part of what came so far; '' while only half a character is there. */
  push(piece: string): string {
    let text = this.#held + piece;
    this.#held = '';
    const last = text.charCodeAt(text.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#held = text.slice(-1);
      text = text.slice(0, -1);
    }
    return storableText(text);
  }

  /** What was held back when no more pieces come. */
  end(): string {
    const rest = storableText(this.#held);
    this.#held = '';
    return rest;
  }
}
