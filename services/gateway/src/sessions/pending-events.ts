import type { EventType } from './event.schema.ts';

/** An event that waits for its sequence number. */
export interface PendingEvent {
  readonly type: EventType;
  readonly turnId: string | undefined;
  readonly messageId: string | undefined;
  /** When it happened, not when it was written. */
  readonly at: Date;
  readonly data: Record<string, unknown>;
}

/** An event grows by merging at most to this size (characters), so that a reader gets it in one piece. */
const MAX_MERGED = 64 * 1024;

/** Events of these types carry a piece of a text; equal other fields mean that the pieces belong together. */
const PIECES: ReadonlySet<EventType> = new Set(['text.delta', 'reasoning.delta', 'run.output']);

function continues(first: PendingEvent, next: PendingEvent): boolean {
  return (
    first.type === next.type &&
    PIECES.has(next.type) &&
    first.turnId === next.turnId &&
    first.messageId === next.messageId &&
    first.data.callId === next.data.callId &&
    first.data.stream === next.data.stream
  );
}

/** Adjacent pieces of one text as one event; everything else stays as it is and in order. */
export function mergePieces(events: readonly PendingEvent[]): PendingEvent[] {
  const merged: PendingEvent[] = [];
  let pieces: string[] = [];
  let size = 0;
  const close = (): void => {
    const open = merged.at(-1);
    if (open && pieces.length > 1)
      merged[merged.length - 1] = { ...open, data: { ...open.data, text: pieces.join('') } };
  };
  for (const event of events) {
    const text = typeof event.data.text === 'string' ? event.data.text : '';
    const open = merged.at(-1);
    if (open && continues(open, event) && size + text.length <= MAX_MERGED) {
      pieces.push(text);
      size += text.length;
      continue;
    }
    close();
    merged.push(event);
    pieces = [text];
    size = text.length;
  }
  close();
  return merged;
}
