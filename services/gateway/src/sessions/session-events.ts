import type { EventType, SessionEvent } from './event.schema.ts';
import type { PendingEvent } from './pending-event.ts';

/** A stored event as a reader gets it: its place, and the text to send. */
export interface EventLine {
  readonly seq: number;
  readonly type: EventType;
  /** The event as JSON, made once and sent to every reader. */
  readonly json: string;
}

/** Redis channel of a session's live events. Pub/sub keeps nothing, so there is no time to live. */
export const eventChannel = (sessionId: string): string => `ev:${sessionId}`;

export function toEvent(sessionId: string, seq: number, event: PendingEvent): SessionEvent {
  return {
    seq,
    sessionId,
    ...(event.turnId ? { turnId: event.turnId } : {}),
    ...(event.messageId ? { messageId: event.messageId } : {}),
    type: event.type,
    at: event.at.toISOString(),
    data: event.data,
  } as SessionEvent;
}

/** Events as they stand in the log from `firstSeq` on. */
export function toEvents(sessionId: string, firstSeq: number, events: readonly PendingEvent[]): SessionEvent[] {
  return events.map((event, i) => toEvent(sessionId, firstSeq + i, event));
}

export function toLine(event: SessionEvent): EventLine {
  return { seq: event.seq, type: event.type, json: JSON.stringify(event) };
}
