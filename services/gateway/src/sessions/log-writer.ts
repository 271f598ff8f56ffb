import type { EventData, EventType } from './event.schema.ts';
import { goesOn, type PendingEvent, type PendingPiece } from './pending-event.ts';
import { StorablePieces, storableData } from './storable.ts';

/** The turn and the answer that an event belongs to. */
export interface EventIds {
  readonly turnId: string;
  readonly messageId: string;
}

/** What the log does when a writer has something to store; `now` asks for a flush that does not wait for the next tick. */
export interface WriterHost {
  wake(writer: LogWriter, now: boolean): void;
}

/** A session held by this process: its id, its tenant and the fence under which it may be written. */
export interface HeldSession {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly fence: string;
  /** The last sequence number when the session was taken. */
  readonly lastSeq: number;
}

/** The text that is being written in pieces. */
interface OpenText {
  readonly key: string;
  readonly type: 'text.delta' | 'reasoning.delta' | 'run.output';
  readonly rest: Record<string, unknown>;
  readonly ids: EventIds;
  readonly pieces: StorablePieces;
  /** Its newest event while that is not handed over: what follows goes into it. */
  event: PendingPiece | undefined;
}

/**
 * Appends to one session for as long as its fence holds. Calls return at once; `settled` waits until all of it is durable. Pieces of text are
 * written every 50 ms, the first piece of each text and everything else at once.
 */
export class LogWriter {
  readonly held: HeldSession;
  /** The answer being written, exactly as the log holds it; whole when no text is open. */
  readonly answer = { text: '', reasoning: '' };
  /** Sequence number of the last event that this writer stored. */
  lastSeq: number;
  readonly #host: WriterHost;
  readonly #refusal = new AbortController();
  /** Texts that had a piece since the last whole event. */
  readonly #begun = new Set<string>();
  #open: OpenText | undefined;
  #pending: PendingEvent[] = [];
  #appended = 0;
  #stored = 0;
  #waiting: { count: number; resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(host: WriterHost, held: HeldSession) {
    this.#host = host;
    this.held = held;
    this.lastSeq = held.lastSeq;
  }

  /** Aborted when the session belongs to someone else now, is deleted, or cannot be written; nothing more of this writer is kept. */
  get refused(): AbortSignal {
    return this.#refusal.signal;
  }

  /** Starts to gather the text of an answer; one that is continued begins with what is there. */
  beginAnswer(text = '', reasoning = ''): void {
    this.#close();
    this.answer.text = text;
    this.answer.reasoning = reasoning;
  }

  /** Appends a whole event. A text that is open ends here. */
  append<T extends EventType>(type: T, data: EventData<T>, ids: EventIds): void {
    this.#close();
    this.#begun.clear();
    this.#add({ type, turnId: ids.turnId, messageId: ids.messageId, at: new Date(), data: storableData(data) }, true);
  }

  /** Appends a piece of the answer's text or reasoning. */
  piece(type: 'text.delta' | 'reasoning.delta', text: string, ids: EventIds): void {
    this.#addPiece(type, type, {}, text, ids);
  }

  /** Appends a piece of a run's output. */
  output(data: EventData<'run.output'>, ids: EventIds): void {
    const { text, ...rest } = data;
    this.#addPiece(`${data.callId} ${data.stream}`, 'run.output', rest, text, ids);
  }

  /** Ends an open text, so that `answer` is whole. */
  endText(): void {
    this.#close();
  }

  /** Resolves when everything appended so far is durable; rejects when it was refused. */
  settled(): Promise<void> {
    if (this.refused.aborted) return Promise.reject(this.refused.reason);
    if (this.#stored === this.#appended) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.push({ count: this.#appended, resolve, reject }));
  }

  /** For the log: hands over what waits to be written. */
  take(): PendingEvent[] {
    if (this.#open) this.#seal(this.#open);
    return this.#pending.splice(0);
  }

  /** For the log: `count` more of the appended events are durable. */
  stored(count: number, lastSeq: number): void {
    this.#stored += count;
    this.lastSeq = lastSeq;
    const done = this.#waiting.filter((wait) => wait.count <= this.#stored);
    this.#waiting = this.#waiting.filter((wait) => wait.count > this.#stored);
    for (const wait of done) wait.resolve();
  }

  /** For the log: nothing of this writer is taken any more. */
  refuse(reason: Error): void {
    if (this.refused.aborted) return;
    this.#pending = [];
    this.#refusal.abort(reason);
    for (const wait of this.#waiting.splice(0)) wait.reject(reason);
  }

  #addPiece(key: string, type: OpenText['type'], rest: Record<string, unknown>, text: string, ids: EventIds): void {
    if (this.#open?.key !== key) {
      this.#close();
      this.#open = { key, type, rest, ids, pieces: new StorablePieces(), event: undefined };
    }
    this.#emit(this.#open, this.#open.pieces.push(text));
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (!open) return;
    this.#emit(open, open.pieces.end());
    this.#seal(open);
  }

  /** Into the event that waits already, where there is one: hundreds of streams would else leave an event for each token until the next flush. */
  #emit(open: OpenText, text: string): void {
    if (!text) return;
    if (open.event && goesOn(open.event, text)) {
      open.event.data.text += text;
      return;
    }
    this.#seal(open);
    const { key, type, rest, ids } = open;
    const first = !this.#begun.has(key);
    this.#begun.add(key);
    open.event = { type, turnId: ids.turnId, messageId: ids.messageId, at: new Date(), data: { ...rest, text } };
    this.#add(open.event, first);
  }

  /** Nothing more goes into its newest event. */
  #seal(open: OpenText): void {
    const { event, type } = open;
    open.event = undefined;
    if (!event) return;
    if (type === 'text.delta') this.answer.text += event.data.text;
    if (type === 'reasoning.delta') this.answer.reasoning += event.data.text;
  }

  #add(event: PendingEvent, now: boolean): void {
    if (this.refused.aborted) return;
    this.#pending.push(event);
    this.#appended += 1;
    this.#host.wake(this, now);
  }
}
