import type { AppError } from '@moli/errors';
import { CallAssembler } from './call-assembler.ts';
import { type Chunk, readChunk, readErrorFrame } from './chunk.ts';
import { parseExact } from './exact-json.ts';
import { cutError, emptyError, modelError } from './model-error.ts';
import type { FinishReason, ModelCall, ModelEvent, ModelUsage } from './provider.types.ts';
import { errorOfFrame } from './server-errors.ts';
import { TextSplitter } from './text-splitter.ts';

interface Options {
  /** Names of the tools offered with the request; text is looked at for calls only when there are some. */
  readonly offered: readonly string[];
  /** Makes an id for a call that came without one. */
  readonly newId: () => string;
}

/**
 * Puts an answer together from the payloads of a stream: pure, no sockets, no clock. `push` gives what can be shown at once; `finish`
 * gives the rest, the calls and the end, or the fault that ended the answer. What was given before a fault stays valid.
 */
export class StreamAssembler {
  readonly #splitter: TextSplitter;
  readonly #calls: CallAssembler;
  readonly #newId: () => string;
  readonly #text = new WellFormed('text');
  readonly #reasoning = new WellFormed('reasoning');
  #finish: string | undefined;
  #usage: ModelUsage | undefined;
  #fault: AppError | undefined;
  #done = false;
  #said = false;
  #thought = false;
  /** All text of `message` frames so far, which repeat it. */
  #wholeText = '';
  #wholeReasoning = '';

  constructor({ offered, newId }: Options) {
    this.#splitter = new TextSplitter(offered);
    this.#calls = new CallAssembler(offered, newId);
    this.#newId = newId;
  }

  /** Nothing more is worth reading: `[DONE]` or a fault came. */
  get ended(): boolean {
    return this.#done || this.#fault !== undefined;
  }

  /** `[DONE]` came. */
  get done(): boolean {
    return this.#done;
  }

  /** The server said why it stopped; what may follow is only the usage. */
  get finishSeen(): boolean {
    return this.#finish !== undefined;
  }

  /** Takes the payload of one frame, without `data:`. */
  push(payload: string): ModelEvent[] {
    const text = payload.trim();
    if (this.ended || text === '') return [];
    if (text === '[DONE]') {
      this.#done = true;
      return [];
    }
    // Some relays keep the line warm with words in place of comments.
    if (!text.startsWith('{')) return [];
    let frame: unknown;
    try {
      frame = parseExact(text);
    } catch (cause) {
      // Frames that a relay put line under line, without the blank line between them.
      if (text.includes('\n')) return text.split('\n').flatMap((line) => this.push(line));
      this.#fault = modelError(
        'model_bad_answer',
        '模型服务发来的数据不是合法的 JSON，回答到此为止。请重试；若总是这样，请检查模型服务或中转。',
        'The model server sent data that is not JSON; the answer ends here. Try again; if it keeps happening, look at the server or the relay in front of it.',
        { cause },
      );
      return [];
    }
    return this.pushFrame(frame);
  }

  /** Takes a frame that is already an object: a chunk, or a whole completion. */
  pushFrame(frame: unknown): ModelEvent[] {
    const error = readErrorFrame(frame);
    if (error) {
      this.#fault = errorOfFrame(error);
      return [];
    }
    const chunk = readChunk(frame);
    if (chunk.finish !== undefined) this.#finish = chunk.finish.toLowerCase();
    if (chunk.usage) this.#usage = chunk.usage;
    this.#calls.push(chunk.calls);
    return this.#show(this.#additions(chunk));
  }

  /** `closed`: how the stream ended, `[DONE]` or not, by the server or by a broken connection. */
  finish(): { events: ModelEvent[]; fault?: AppError } {
    const cut = !this.#done && this.#finish === undefined;
    const tail = this.#splitter.finish(cut || this.#fault !== undefined);
    const events = [...this.#wellFormed(tail.events), ...this.#text.flush(), ...this.#reasoning.flush()];
    this.#note(events);
    const fault = this.#fault ?? (cut ? cutError() : faultOfFinish(this.#finish));
    if (fault) return { events, fault };
    const assembled = this.#calls.finish();
    if (assembled.fault) return { events, fault: assembled.fault };
    const calls = this.#withInline(assembled.calls, tail.calls);
    if (!this.#said && calls.length === 0)
      return { events, fault: emptyError(this.#thought, this.#reason(0) === 'length') };
    for (const call of calls) events.push({ type: 'call', call });
    events.push({
      type: 'end',
      finishReason: this.#reason(calls.length),
      ...(this.#usage ? { usage: this.#usage } : {}),
    });
    return { events };
  }

  #additions(chunk: Chunk): { text: string; reasoning: string } {
    if (!chunk.whole) return chunk;
    const added = {
      text: chunk.text.startsWith(this.#wholeText) ? chunk.text.slice(this.#wholeText.length) : chunk.text,
      reasoning: chunk.reasoning.startsWith(this.#wholeReasoning)
        ? chunk.reasoning.slice(this.#wholeReasoning.length)
        : chunk.reasoning,
    };
    this.#wholeText = chunk.text || this.#wholeText;
    this.#wholeReasoning = chunk.reasoning || this.#wholeReasoning;
    return added;
  }

  #show({ text, reasoning }: { text: string; reasoning: string }): ModelEvent[] {
    const raw: ModelEvent[] = reasoning ? [{ type: 'reasoning', text: reasoning }] : [];
    if (text) raw.push(...this.#splitter.push(text));
    const events = this.#wellFormed(raw);
    this.#note(events);
    return events;
  }

  #wellFormed(events: readonly ModelEvent[]): ModelEvent[] {
    return events.flatMap((event) => {
      if (event.type === 'text') return this.#text.push(event.text);
      if (event.type === 'reasoning') return this.#reasoning.push(event.text);
      return [event];
    });
  }

  #note(events: readonly ModelEvent[]): void {
    for (const event of events) {
      if (event.type === 'text' && event.text.trim() !== '') this.#said = true;
      if (event.type === 'reasoning') this.#thought = true;
    }
  }

  /** A server that reads the markup and leaves it in the text as well has sent one call, not two. */
  #withInline(calls: ModelCall[], inline: readonly { name: string; arguments: string }[]): ModelCall[] {
    const known = new Set(calls.map((call) => `${call.name} ${canonical(call.arguments)}`));
    const added = inline.filter((call) => !known.has(`${call.name} ${canonical(call.arguments)}`));
    return [...calls, ...added.map((call) => ({ id: this.#newId(), ...call }))];
  }

  #reason(calls: number): FinishReason {
    if (this.#finish === 'length' || this.#finish === 'max_tokens') return 'length';
    return calls > 0 ? 'tool_calls' : 'stop';
  }
}

/** Keeps halves of surrogate pairs that two frames share together, and a NUL (which the database cannot hold) out. */
class WellFormed {
  #half = '';
  readonly #type: 'text' | 'reasoning';

  constructor(type: 'text' | 'reasoning') {
    this.#type = type;
  }

  push(piece: string): ModelEvent[] {
    const text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    const open = last >= 0xd800 && last <= 0xdbff;
    this.#half = open ? text.slice(-1) : '';
    return this.#event(open ? text.slice(0, -1) : text);
  }

  flush(): ModelEvent[] {
    const half = this.#half;
    this.#half = '';
    return this.#event(half);
  }

  #event(text: string): ModelEvent[] {
    const clean = text.toWellFormed().replaceAll('\u0000', '\ufffd');
    return clean === '' ? [] : [{ type: this.#type, text: clean }];
  }
}

function faultOfFinish(finish: string | undefined): AppError | undefined {
  switch (finish) {
    case 'content_filter':
    case 'sensitive':
    case 'safety':
      return modelError(
        'model_refused',
        '模型服务的内容审核中止了这个回答。请换一种说法，或去掉敏感内容后再试。',
        'The content filter of the model server stopped this answer. Put the question differently, or leave the sensitive part out.',
      );
    case 'insufficient_system_resource':
      return modelError(
        'model_overloaded',
        '模型服务资源不足，中止了回答。请稍后再试。',
        'The model server ran out of resources and stopped the answer. Try again later.',
      );
    case 'error':
    case 'abort':
    case 'network_error':
      return cutError();
    default:
      return undefined;
  }
}

function canonical(text: string): string {
  try {
    return JSON.stringify(parseExact(text));
  } catch {
    return text;
  }
}
