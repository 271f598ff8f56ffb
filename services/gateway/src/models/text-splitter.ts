import { CLOSE_TAG, type InlineCall, OPEN_TAG, readInlineCalls } from './inline-calls.ts';
import type { ModelEvent } from './provider.types.ts';

const THINK_TAGS = ['<think>', '<thinking>'];
/** A model that opens a call and never closes it must not swallow the answer: beyond this it is text. In characters. */
const INLINE_LIMIT = 262_144;

type State = 'start' | 'think' | 'after-think' | 'body' | 'inline';

/**
 * Splits the text of an answer into what the model thought, what it said, and calls it wrote as text. Tags count only where a model
 * puts them: `<think>` as the very first thing, `<tool_call>` at the start of a line outside a code fence; elsewhere they are text.
 * Nothing is held back longer than it takes to tell.
 */
export class TextSplitter {
  #state: State = 'start';
  #held = '';
  #closeTag = '';
  /** The newest text with enough before it to hold a tag that was cut. */
  #fresh = '';
  /** What is held ends in the middle of a call. */
  #inCall = false;
  /** Some of the thinking was given out: white space before it is no part of it. */
  #thought = false;
  readonly #line = new LineTracker();
  readonly #offered: ReadonlySet<string>;

  constructor(offered: readonly string[]) {
    this.#offered = new Set(offered);
  }

  push(text: string): ModelEvent[] {
    const events: ModelEvent[] = [];
    this.#held += text;
    this.#fresh = this.#fresh.slice(1 - CLOSE_TAG.length) + text;
    while (this.#step(events)) {}
    return merge(events);
  }

  /** The rest, when nothing more comes. `cut`: the answer broke off, so a half call is dropped and none is read. */
  finish(cut: boolean): { events: ModelEvent[]; calls: readonly InlineCall[] } {
    const held = this.#held;
    this.#held = '';
    if (held === '') return { events: [], calls: [] };
    if (this.#state === 'think')
      return { events: [{ type: 'reasoning', text: held.trimEnd() }].filter(filled) as ModelEvent[], calls: [] };
    if (this.#state === 'inline') {
      if (cut) return { events: [], calls: [] };
      const reading = readInlineCalls(held, this.#offered, true);
      if (typeof reading !== 'string') return { events: [], calls: reading };
    }
    const text = this.#state === 'after-think' ? held.trimStart() : held;
    return { events: text ? [{ type: 'text', text }] : [], calls: [] };
  }

  /** One step of the state machine; false when it needs more text. */
  #step(events: ModelEvent[]): boolean {
    if (this.#held === '') return false;
    switch (this.#state) {
      case 'start':
        return this.#start();
      case 'think':
        return this.#think(events);
      case 'after-think':
        this.#held = this.#held.trimStart();
        if (this.#held !== '') this.#state = 'body';
        return this.#held !== '';
      case 'body':
        return this.#body(events);
      case 'inline':
        return this.#inline(events);
    }
  }

  #start(): boolean {
    const lead = this.#held.trimStart();
    const tag = THINK_TAGS.find((candidate) => lead.startsWith(candidate));
    if (tag) {
      this.#state = 'think';
      this.#closeTag = tag.replace('<', '</');
      this.#held = lead.slice(tag.length);
      return true;
    }
    if (THINK_TAGS.some((candidate) => candidate.startsWith(lead))) return false;
    this.#state = 'body';
    return true;
  }

  #think(events: ModelEvent[]): boolean {
    if (!this.#thought) this.#held = this.#held.trimStart();
    const close = this.#held.indexOf(this.#closeTag);
    if (close >= 0) {
      const thought = this.#held.slice(0, close).trimEnd();
      if (thought) events.push({ type: 'reasoning', text: thought });
      this.#thought = true;
      this.#held = this.#held.slice(close + this.#closeTag.length);
      this.#state = 'after-think';
      return true;
    }
    // White space before the closing tag is no thought: it waits until something else follows.
    const free = this.#held.slice(0, this.#held.length - partialTail(this.#held, this.#closeTag)).trimEnd();
    if (free) {
      events.push({ type: 'reasoning', text: free });
      this.#thought = true;
    }
    this.#held = this.#held.slice(free.length);
    return false;
  }

  #body(events: ModelEvent[]): boolean {
    if (this.#offered.size === 0) {
      events.push({ type: 'text', text: this.#held });
      this.#held = '';
      return false;
    }
    if (this.#line.atStart && !this.#line.inFence) {
      const lead = this.#held.replace(/^[ \t\n\r]+/, '');
      if (lead.startsWith(OPEN_TAG)) {
        this.#state = 'inline';
        return true;
      }
      if (OPEN_TAG.startsWith(lead)) return false;
    }
    const newline = this.#held.indexOf('\n');
    const piece = newline < 0 ? this.#held : this.#held.slice(0, newline + 1);
    events.push({ type: 'text', text: piece });
    this.#line.push(piece);
    this.#held = this.#held.slice(piece.length);
    return true;
  }

  #inline(events: ModelEvent[]): boolean {
    // Inside of a call only a closing tag brings news: what is held is not read again for every few characters.
    if (this.#inCall && !this.#fresh.includes(CLOSE_TAG) && this.#held.length < INLINE_LIMIT) return false;
    const reading = readInlineCalls(this.#held, this.#offered, false);
    this.#inCall = reading === 'open';
    if (reading !== 'text' && this.#held.length < INLINE_LIMIT) return false;
    this.#inCall = false;
    const upTo = this.#held.indexOf(OPEN_TAG) + OPEN_TAG.length;
    const piece = this.#held.slice(0, upTo);
    events.push({ type: 'text', text: piece });
    this.#line.push(piece);
    this.#held = this.#held.slice(upTo);
    this.#state = 'body';
    return true;
  }
}

/** Knows whether the next character begins a line and whether that line stands in a code fence. */
class LineTracker {
  #line = '';
  #fence = '';

  get atStart(): boolean {
    return this.#line.trim() === '';
  }

  get inFence(): boolean {
    return this.#fence !== '';
  }

  push(piece: string): void {
    // Only the start of a line can say that it is a fence.
    if (this.#line.length < 200) this.#line += piece;
    if (!piece.endsWith('\n')) return;
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)/.exec(this.#line);
    if (mark) {
      const [, fence = '', rest = ''] = mark;
      if (this.#fence === '') this.#fence = fence;
      else if (fence[0] === this.#fence[0] && fence.length >= this.#fence.length && rest.trim() === '')
        this.#fence = '';
    }
    this.#line = '';
  }
}

/** Length of the longest end of `text` that is a beginning of `tag`. */
function partialTail(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}

const filled = (event: { text: string }): boolean => event.text !== '';

function merge(events: ModelEvent[]): ModelEvent[] {
  const merged: ModelEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    if (last && (event.type === 'text' || event.type === 'reasoning') && last.type === event.type) {
      merged[merged.length - 1] = { type: event.type, text: last.text + event.text };
    } else merged.push(event);
  }
  return merged;
}
