import { AppError } from '@moli/errors';
import { traceCarrier } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import { FilesService } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import type { EventData } from '../sessions/event.schema.ts';
import type { PendingEvent } from '../sessions/pending-event.ts';
import { messageNotFound, sessionNotFound } from '../sessions/sessions.errors.ts';
import type { Accepted, NewMessage } from '../sessions/sessions.schema.ts';
import { type LockedSession, SessionsStore } from '../sessions/sessions.store.ts';
import { storableText } from '../sessions/storable.ts';
import { titleFrom } from './session-title.ts';
import { TurnDoor } from './turn-door.ts';
import { storedCaller, type TurnInput } from './turn-input.ts';

/** What an input adds to the log when it is accepted, and the turn it makes. */
interface Entry {
  readonly input: TurnInput;
  readonly events: readonly PendingEvent[];
  /** Set with the entry when the session has none. */
  readonly title?: string;
}

const event = (
  type: PendingEvent['type'],
  data: Record<string, unknown>,
  ids: { turnId?: string; messageId?: string } = {},
): PendingEvent => ({ type, turnId: ids.turnId, messageId: ids.messageId, at: new Date(), data });

/**
 * Everything that starts a turn. HTTP and WebSocket both come through here; under the session's row lock the order of acceptance is the order of the log and
 * of the turns.
 */
@Injectable()
export class TurnsService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
    @Inject(FilesService) private readonly files: FilesService,
    @Inject(TurnDoor) private readonly door: TurnDoor,
  ) {}

  /**
   * Accepts a message. While a turn runs it waits: it gets its own turn after those that were accepted before. Errors: `not_found` (session, file).
   */
  async send(caller: Caller, sessionId: string, message: NewMessage): Promise<Accepted> {
    return this.#accept(caller, sessionId, message.clientMessageId, async (tx, session) => {
      const rows = message.fileIds.length > 0 ? await this.files.adopt(tx, caller, message.fileIds, sessionId) : [];
      const files = rows.map(({ id, name, bytes, mime_type }) => ({ id, name, bytes, mimeType: mime_type }));
      const input = this.#input('message', caller, session, newId('msg'), message.locale);
      const data: EventData<'message.created'> = {
        messageId: input.messageId,
        role: 'user',
        text: storableText(message.text),
        files,
        ...(message.clientMessageId ? { clientMessageId: storableText(message.clientMessageId) } : {}),
        ...(caller.userId ? { userId: caller.userId } : {}),
      };
      const created = event('message.created', data, input);
      const title = session.title === '' ? titleFrom(data.text, files[0]?.name) : '';
      return title === ''
        ? { input, events: [created] }
        : { input, title, events: [created, event('session.updated', { title })] };
    });
  }

  /** Goes on writing the last answer, which was stopped, interrupted or failed. Errors: `not_found`, `turn_running`, `conflict`. */
  async continue(caller: Caller, sessionId: string): Promise<Accepted> {
    return this.#accept(caller, sessionId, undefined, async (tx, session) => {
      const last = await this.door.lastIdle(tx, session);
      if (!last) throw nothingToContinue();
      const status = await answerStatus(tx, sessionId, last.answerId);
      if (status === undefined || status === 'completed') throw nothingToContinue();
      const input = this.#input('continue', caller, session, last.messageId);
      return { input: { ...input, answerId: last.answerId }, events: [] };
    });
  }

  /** Answers the last message anew, edited or not; the new answer takes the place of the old one. Errors: `not_found`, `turn_running`, `conflict`. */
  async resend(caller: Caller, sessionId: string, messageId: string, text: string | undefined): Promise<Accepted> {
    return this.#accept(caller, sessionId, undefined, async (tx, session) => {
      const last = await this.door.lastIdle(tx, session);
      if (last?.messageId !== messageId) throw await this.#notTheLast(tx, sessionId, messageId);
      const input: TurnInput = { ...this.#input('resend', caller, session, messageId), replaces: last.answerId };
      if (text === undefined) return { input, events: [] };
      return { input, events: [event('message.edited', { messageId, text: storableText(text) }, input)] };
    });
  }

  async #accept(
    caller: Caller,
    sessionId: string,
    clientMessageId: string | undefined,
    entryOf: (tx: TenantTx, session: LockedSession) => Promise<Entry>,
  ): Promise<Accepted> {
    const accepted = await this.db.as(caller.tenantId, async (tx) => {
      // Sent behind each other: what was answered before is read when the lock is there.
      const [session, before] = await Promise.all([
        this.sessions.lock(tx, caller, sessionId),
        clientMessageId && this.door.answerOf(tx, sessionId, storableText(clientMessageId)),
      ]);
      if (!session) throw sessionNotFound();
      if (before) return { answer: before };
      const entry = await entryOf(tx, session);
      const answer: Accepted = {
        messageId: entry.input.messageId,
        turnId: entry.input.turnId,
        // Without an event of its own an input is known by the last one before it.
        seq: entry.events.length > 0 ? session.nextSeq : session.nextSeq - 1,
      };
      return {
        answer,
        entered: await this.door.enter(tx, caller.tenantId, session, { ...entry, answer, clientMessageId }),
      };
    });
    if (accepted.entered) this.door.open(accepted.entered);
    return accepted.answer;
  }

  #input(
    kind: TurnInput['kind'],
    caller: Caller,
    { agentId }: LockedSession,
    messageId: string,
    locale: Caller['locale'] = caller.locale,
  ): TurnInput {
    return {
      kind,
      turnId: newId('turn'),
      messageId,
      agentId,
      answerId: newId('msg'),
      caller: storedCaller(caller, locale),
      trace: traceCarrier(),
      acceptedAt: Date.now(),
    };
  }

  async #notTheLast(tx: TenantTx, sessionId: string, messageId: string): Promise<AppError> {
    const known = await tx
      .selectFrom('events')
      .select('seq')
      .where('session_id', '=', sessionId)
      .where('message_id', '=', messageId)
      .limit(1)
      .executeTakeFirst();
    return known ? notTheLast() : messageNotFound();
  }
}

/** How an answer ended last; undefined when it never did. */
async function answerStatus(tx: TenantTx, sessionId: string, messageId: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom('events')
    .select('data')
    .where('session_id', '=', sessionId)
    .where('type', '=', 'message.completed')
    .where('message_id', '=', messageId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && String(row.data.status);
}

const nothingToContinue = (): AppError =>
  new AppError('conflict', {
    zh: '没有可以继续的回答：上一条回答已经写完。请直接发送新的消息。',
    en: 'There is nothing to go on with: the last answer is complete. Send a new message.',
  });

const notTheLast = (): AppError =>
  new AppError('conflict', {
    zh: '只有最后一条消息可以重新发送。请把内容作为新消息发送。',
    en: 'Only the last message can be sent again. Send its text as a new message.',
  });
