import { type Ref, ref, type ShallowRef, shallowRef } from 'vue';
import type { SessionEvent } from '../api/events.ts';
import type { Problem } from '../api/types.ts';
import { emptySession, fold, type Message, runningTurn, type Turn } from './session-fold.ts';
import { useSocket } from './socket.store.ts';

/** What a page draws of a session. A new object after each frame in which something changed. */
export interface SessionView {
  readonly messages: readonly Message[];
  readonly turns: readonly Turn[];
  readonly title: string | null;
  readonly running: Turn | undefined;
  readonly deleted: boolean;
}

/** A message of this tab that the log does not have yet. */
export interface PendingMessage {
  readonly clientMessageId: string;
  readonly text: string;
  readonly files: readonly { id: string; name: string; bytes: number; mimeType: string }[];
  readonly problem?: Problem;
}

export interface SessionLog {
  readonly sessionId: string;
  readonly view: ShallowRef<SessionView>;
  readonly pending: Ref<PendingMessage[]>;
  /** True once everything up to `target` is in. */
  readonly loaded: Ref<boolean>;
  /** Tells how far the log goes, as the list of sessions knows it. */
  expect(seq: number): void;
  lastSeq(): number;
  start(): void;
  stop(): void;
}

/** A hidden tab gets no frames; its texts are brought up to date at this pace, in milliseconds. */
const hiddenFlushMs = 200;
/** Rest before a refused subscription is tried again, in milliseconds. */
const retryMs = 3000;
/** Shortest time between two requests for missing events, in milliseconds. */
const refillEveryMs = 500;

/** Follows one session: folds its log, draws at most once a frame, asks again for what is missing. */
export function createSessionLog(sessionId: string, onEvent: (event: SessionEvent) => void): SessionLog {
  const socket = useSocket();
  const state = emptySession();
  const view = shallowRef<SessionView>({ messages: [], turns: [], title: null, running: undefined, deleted: false });
  const pending = ref<PendingMessage[]>([]) as Ref<PendingMessage[]>;
  const loaded = ref(false);
  let target = Number.POSITIVE_INFINITY;
  let scheduled = false;
  let refilledAt = 0;

  function receive(event: SessionEvent): void {
    const result = fold(state, event);
    if (result === 'gap') refill();
    if (result !== 'applied') return;
    if (event.type === 'message.created' && event.data.clientMessageId) {
      const mine = event.data.clientMessageId;
      pending.value = pending.value.filter((message) => message.clientMessageId !== mine);
    }
    onEvent(event);
    schedule();
  }

  function refill(): void {
    if (Date.now() - refilledAt < refillEveryMs) return;
    refilledAt = Date.now();
    socket.subscribe(subscriber);
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    if (document.hidden) window.setTimeout(flush, hiddenFlushMs);
    else requestAnimationFrame(flush);
  }

  function flush(): void {
    scheduled = false;
    view.value = {
      messages: state.order.map((id) => state.messages.get(id)!),
      turns: [...state.turns.values()],
      title: state.title,
      running: runningTurn(state),
      deleted: state.deleted,
    };
    if (state.lastSeq >= target) loaded.value = true;
  }

  const subscriber = {
    sessionId,
    after: () => state.lastSeq,
    onEvent: receive,
    onProblem(value: Problem) {
      // A fault of the server passes; a refusal does not.
      if (value.status >= 500) window.setTimeout(() => socket.subscribe(subscriber), retryMs);
    },
  };

  return {
    sessionId,
    view,
    pending,
    loaded,
    expect(seq) {
      target = Math.min(target, seq);
      if (state.lastSeq >= target) loaded.value = true;
    },
    lastSeq: () => state.lastSeq,
    start: () => socket.subscribe(subscriber),
    stop: () => socket.unsubscribe(sessionId),
  };
}
