import { z } from 'zod';
import type { EventLine } from '../sessions/session-events.ts';
import { NewMessage, SessionId } from '../sessions/sessions.schema.ts';

const after = z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0);

/** What a client may say on the socket. */
export const InFrame = z.discriminatedUnion('type', [
  /** The first frame of a program: who it is. */
  z.strictObject({ type: z.literal('auth'), key: z.string().max(200) }),
  z.strictObject({ type: z.literal('subscribe'), sessionId: SessionId, after }),
  z.strictObject({ type: z.literal('unsubscribe'), sessionId: SessionId }),
  z.strictObject({ type: z.literal('stop'), sessionId: SessionId }),
  z.strictObject({ type: z.literal('ping') }),
  z.looseObject({ type: z.literal('send'), sessionId: SessionId }),
]);
export type InFrame = z.infer<typeof InFrame>;

/** The message inside a `send` frame, by the same rules as over HTTP. */
export function messageOf({ type: _, sessionId: __, ...message }: Extract<InFrame, { type: 'send' }>) {
  return NewMessage.safeParse(message);
}

/**
 * An event as a frame: the event's fields beside `"type": "event"`; the event's own type is in `event`. The text of the event is used as it is, so
 * an event is written once for all its readers.
 */
export function eventFrame({ type, json }: EventLine): string {
  return json.replace(`"type":${JSON.stringify(type)},"at":`, `"type":"event","event":${JSON.stringify(type)},"at":`);
}
