import { Injectable } from '@nestjs/common';
import type { TenantTx } from '../database/tenant-db.ts';
import type { Accepted } from '../sessions/sessions.schema.ts';
import { TurnInput } from './turn-input.ts';

export interface NewInput {
  readonly input: TurnInput;
  readonly answer: Accepted;
  readonly clientMessageId: string | undefined;
}

/** The `pending_inputs` table: what was accepted, in the order of acceptance. Rows stay, so that sending twice is noticed. */
@Injectable()
export class InputsStore {
  /** Called under the session's row lock: the order of ids is the order of the log. `started`: its turn begins at once. */
  insert(tx: TenantTx, sessionId: string, { input, answer, clientMessageId }: NewInput, started: boolean) {
    return tx.insertInto('pending_inputs').values({
      session_id: sessionId,
      client_message_id: clientMessageId ?? null,
      answer: JSON.stringify(answer),
      input: JSON.stringify(input),
      started_at: started ? new Date() : null,
    });
  }

  /** What was answered to the same message before. */
  async answerOf(tx: TenantTx, sessionId: string, clientMessageId: string): Promise<Accepted | undefined> {
    const row = await tx
      .selectFrom('pending_inputs')
      .select('answer')
      .where('session_id', '=', sessionId)
      .where('client_message_id', '=', clientMessageId)
      .executeTakeFirst();
    if (!row) return undefined;
    // Always the same text: jsonb keeps its own order of keys.
    const { messageId, turnId, seq } = row.answer as unknown as Accepted;
    return { messageId, turnId, seq };
  }

  /** The oldest input whose turn has not started. Read under the session's row lock. */
  async next(tx: TenantTx, sessionId: string): Promise<{ id: string; input: TurnInput } | undefined> {
    const row = await tx
      .selectFrom('pending_inputs')
      .select(['id', 'input'])
      .where('session_id', '=', sessionId)
      .where('started_at', 'is', null)
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return row && { id: row.id, input: TurnInput.parse(row.input) };
  }

  /** The turn of an input begins. */
  start(tx: TenantTx, sessionId: string, id: string) {
    return tx
      .updateTable('pending_inputs')
      .set({ started_at: new Date() })
      .where('session_id', '=', sessionId)
      .where('id', '=', id);
  }

  /** The newest input, started or not. */
  async newest(tx: TenantTx, sessionId: string): Promise<{ input: TurnInput; started: boolean } | undefined> {
    const row = await tx
      .selectFrom('pending_inputs')
      .select(['input', 'started_at'])
      .where('session_id', '=', sessionId)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row && { input: TurnInput.parse(row.input), started: row.started_at !== null };
  }

  /** The input whose turn was started last. */
  async newestStarted(tx: TenantTx, sessionId: string): Promise<TurnInput | undefined> {
    const row = await tx
      .selectFrom('pending_inputs')
      .select('input')
      .where('session_id', '=', sessionId)
      .where('started_at', 'is not', null)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row && TurnInput.parse(row.input);
  }
}
