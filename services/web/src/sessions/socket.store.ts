import { defineStore } from 'pinia';
import { computed, ref, shallowRef } from 'vue';
import type { SessionEvent } from '../api/events.ts';
import { getMe } from '../api/routes.ts';
import type { Problem } from '../api/types.ts';

export type Connection = 'connecting' | 'open' | 'waiting' | 'closed';

/** A reader of one session's log. `after` answers the last sequence number it has. */
export interface Subscriber {
  sessionId: string;
  after(): number;
  onEvent(event: SessionEvent): void;
  onProblem?(problem: Problem): void;
}

/** Waiting times between attempts, in milliseconds; the last one repeats. */
const backoff = [500, 1000, 2000, 4000, 8000, 15_000];
/** A socket that stays silent this long after a ping is dead though the system has not noticed. */
const pongTimeoutMs = 10_000;
const pingEveryMs = 20_000;

/** The one WebSocket of this tab: many sessions, each resumed by its last sequence number after a break. */
export const useSocket = defineStore('socket', () => {
  const state = ref<Connection>('closed');
  /** When the next attempt starts, and since when the line is down; epoch milliseconds. */
  const retryAt = ref(0);
  const downSince = ref(0);
  const lastOpenedAfterBreak = ref(0);
  const subscribers = new Map<string, Subscriber>();
  const socket = shallowRef<WebSocket | null>(null);
  let attempts = 0;
  let retryTimer: number | undefined;
  let pingTimer: number | undefined;
  let pongTimer: number | undefined;

  function connect(): void {
    window.clearTimeout(retryTimer);
    if (socket.value) return;
    state.value = 'connecting';
    const url = new URL('/v1/ws', location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const next = new WebSocket(url);
    socket.value = next;
    next.onopen = () => opened(next);
    next.onmessage = (message) => received(String(message.data));
    next.onclose = (event) => dropped(next, event.code);
  }

  function opened(next: WebSocket): void {
    if (downSince.value) lastOpenedAfterBreak.value = Date.now();
    attempts = 0;
    state.value = 'open';
    downSince.value = 0;
    for (const subscriber of subscribers.values()) subscribeNow(next, subscriber);
    window.clearInterval(pingTimer);
    pingTimer = window.setInterval(ping, pingEveryMs);
  }

  function ping(): void {
    const current = socket.value;
    if (current?.readyState !== WebSocket.OPEN) return;
    current.send(JSON.stringify({ type: 'ping' }));
    window.clearTimeout(pongTimer);
    pongTimer = window.setTimeout(() => dropped(current, 4000), pongTimeoutMs);
  }

  function dropped(old: WebSocket, code: number): void {
    if (socket.value !== old) return;
    old.onclose = null;
    old.close();
    window.clearInterval(pingTimer);
    window.clearTimeout(pongTimer);
    socket.value = null;
    if (state.value === 'closed') return;
    if (!downSince.value) downSince.value = Date.now();
    // 4401: nobody is signed in any more. Asking who it is finds that out and shows the sign-in page.
    if (code === 4401) getMe().catch(() => {});
    const wait = code === 4401 ? backoff.at(-1)! : backoff[Math.min(attempts, backoff.length - 1)]!;
    attempts += 1;
    state.value = 'waiting';
    retryAt.value = Date.now() + wait;
    window.clearTimeout(retryTimer);
    retryTimer = window.setTimeout(connect, wait);
  }

  function received(text: string): void {
    const frame = JSON.parse(text) as {
      type: string;
      event?: SessionEvent | string;
      sessionId?: string;
      problem?: Problem;
    } & Record<string, unknown>;
    if (frame.type === 'pong') {
      window.clearTimeout(pongTimer);
      return;
    }
    if (frame.type === 'problem') {
      const problem = (frame.problem ?? frame) as Problem;
      const owner = frame.sessionId ? subscribers.get(frame.sessionId) : undefined;
      owner?.onProblem?.(problem);
      return;
    }
    const event = eventOf(frame);
    if (event) subscribers.get(event.sessionId)?.onEvent(event);
  }

  function subscribeNow(target: WebSocket, subscriber: Subscriber): void {
    target.send(JSON.stringify({ type: 'subscribe', sessionId: subscriber.sessionId, after: subscriber.after() }));
  }

  /** Follows a session from `after()` on. Subscribing again asks for what is missing. */
  function subscribe(subscriber: Subscriber): void {
    subscribers.set(subscriber.sessionId, subscriber);
    const current = socket.value;
    if (current?.readyState === WebSocket.OPEN) subscribeNow(current, subscriber);
    else connect();
  }

  function unsubscribe(sessionId: string): void {
    if (!subscribers.delete(sessionId)) return;
    const current = socket.value;
    if (current?.readyState === WebSocket.OPEN) current.send(JSON.stringify({ type: 'unsubscribe', sessionId }));
  }

  /** Ends the line for good, as at sign-out. */
  function close(): void {
    state.value = 'closed';
    subscribers.clear();
    window.clearTimeout(retryTimer);
    window.clearInterval(pingTimer);
    socket.value?.close();
    socket.value = null;
    downSince.value = 0;
  }

  function tryNow(): void {
    if (state.value === 'waiting') connect();
  }

  window.addEventListener('online', tryNow);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) tryNow();
  });

  return {
    state,
    retryAt,
    downSince,
    lastOpenedAfterBreak,
    down: computed(() => downSince.value > 0),
    connect,
    subscribe,
    unsubscribe,
    close,
    tryNow,
  };
});

/** An event frame carries the event beside the word "event", under `event`. */
function eventOf(frame: Record<string, unknown>): SessionEvent | undefined {
  if (frame.event && typeof frame.event === 'object') return frame.event as SessionEvent;
  if (typeof frame.event === 'string') return { ...frame, type: frame.event } as unknown as SessionEvent;
  if (typeof frame.seq === 'number') return frame as unknown as SessionEvent;
  return undefined;
}
