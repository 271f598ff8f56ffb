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

/** A piece of a text, which grows by the pieces after it while it waits. */
export interface PendingPiece extends PendingEvent {
  readonly data: { [name: string]: unknown; text: string };
}

/** A piece grows at most to this size (characters), so that a reader gets it in one piece. */
const MAX_PIECE = 64 * 1024;

export function goesOn(piece: PendingPiece, text: string): boolean {
  return piece.data.text.length + text.length <= MAX_PIECE;
}
