import { LOCALES } from '@moli/errors';
import { z } from 'zod';
import type { Caller } from '../identity/caller.ts';

/** Who asked, kept with the input: the turn may start later, and on another gateway. */
const StoredCaller = z.object({
  tenantId: z.string(),
  userId: z.string().nullable(),
  role: z.enum(['owner', 'admin', 'member', 'viewer']),
  keyId: z.string().nullable(),
  actor: z.string(),
  locale: z.enum(LOCALES),
});

/** What was accepted and makes one turn: a row of `pending_inputs`. */
export const TurnInput = z.object({
  /** `continue` goes on writing an answer that was cut short; `resend` answers a message anew. */
  kind: z.enum(['message', 'continue', 'resend']),
  turnId: z.string(),
  /** The person's message. */
  messageId: z.string(),
  /** The session's agent when the input was accepted. */
  agentId: z.string(),
  /** The answer that the turn writes. */
  answerId: z.string(),
  /** The answer that this one takes the place of. */
  replaces: z.string().optional(),
  caller: StoredCaller,
  /** Trace context of the request, so that the whole scene is one trace. */
  trace: z.record(z.string(), z.string()),
  /** When the input was accepted; milliseconds since the epoch. */
  acceptedAt: z.number(),
});
export type TurnInput = z.infer<typeof TurnInput>;

/** The parts of a caller that are kept; its language may be another than that of the request. */
export function storedCaller(
  { tenantId, userId, role, keyId, actor }: Caller,
  locale: Caller['locale'],
): TurnInput['caller'] {
  return { tenantId, userId, role, keyId, actor, locale };
}
