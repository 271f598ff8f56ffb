import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { TenantDb } from '../database/tenant-db.ts';
import type { HeldSession, LogWriter } from '../sessions/log-writer.ts';
import { foldAnswer } from './answer-so-far.ts';
import { InputsStore } from './inputs.store.ts';
import { TURN_ENDS } from './turn-ending.ts';
import { TurnRunner } from './turn-runner.ts';

/** Goes on with sessions whose gateway is gone: the turn that ran there ends as interrupted, its text is kept, waiting inputs are worked off. */
@Injectable()
export class TurnTakeover {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(InputsStore) private readonly inputs: InputsStore,
    @Inject(TurnRunner) private readonly runner: TurnRunner,
  ) {}

  /** `held` was taken from a gateway that is gone. */
  takeOver(held: HeldSession): void {
    log.warn('a session was taken over from a gateway that is gone', {
      tenant: held.tenantId,
      session: held.sessionId,
    });
    this.runner.start(held, { prepare: (writer) => this.#interrupt(held, writer) });
  }

  async #interrupt({ tenantId, sessionId }: HeldSession, writer: LogWriter): Promise<void> {
    const open = await this.db.as(tenantId, async (tx) => {
      const input = await this.inputs.newestStarted(tx, sessionId);
      if (!input) return undefined;
      const events = await tx
        .selectFrom('events')
        .select('type')
        .where('session_id', '=', sessionId)
        .where('turn_id', '=', input.turnId)
        .where('type', 'in', ['turn.started', 'message.completed', ...TURN_ENDS])
        .execute();
      const types = new Set(events.map(({ type }) => type));
      if (TURN_ENDS.some((type) => types.has(type))) return undefined;
      return { input, types, answer: await foldAnswer(tx, sessionId, input.answerId) };
    });
    if (!open) return;
    const { input, types, answer } = open;
    const ids = { turnId: input.turnId, messageId: input.answerId };
    writer.beginAnswer(answer.text, answer.reasoning);
    if (!types.has('turn.started')) {
      const again = input.kind === 'continue' ? { continues: input.answerId } : {};
      const replaces = input.replaces ? { replaces: input.replaces } : {};
      writer.append('turn.started', { model: '', reason: '', agentId: '', ...again, ...replaces }, ids);
    }
    if (!types.has('message.completed')) {
      const reasoning = answer.reasoning ? { reasoning: answer.reasoning } : {};
      writer.append(
        'message.completed',
        { messageId: input.answerId, text: answer.text, ...reasoning, status: 'interrupted' },
        ids,
      );
    }
    writer.append('turn.interrupted', { reason: 'gateway_lost' }, ids);
    await writer.settled();
  }
}
