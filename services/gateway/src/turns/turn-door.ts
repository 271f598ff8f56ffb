import { Inject, Injectable } from '@nestjs/common';
import type { TenantTx } from '../database/tenant-db.ts';
import type { SessionEvent } from '../sessions/event.schema.ts';
import { insertReserved } from '../sessions/events.store.ts';
import type { HeldSession } from '../sessions/log-writer.ts';
import type { PendingEvent } from '../sessions/pending-event.ts';
import { toEvents } from '../sessions/session-events.ts';
import { SessionLog } from '../sessions/session-log.ts';
import { turnRunning } from '../sessions/sessions.errors.ts';
import type { Accepted } from '../sessions/sessions.schema.ts';
import { fenceAfter, type LockedSession, SessionsStore } from '../sessions/sessions.store.ts';
import { InputsStore, type NewInput } from './inputs.store.ts';
import { Lease } from './lease.ts';
import { TURN_ENDS } from './turn-ending.ts';
import type { TurnInput } from './turn-input.ts';
import { TurnRunner } from './turn-runner.ts';

/** A session that was taken with the input that its work begins with. */
interface Taken {
  readonly held: HeldSession;
  readonly input: TurnInput;
}

/** What there is to do when an input was accepted. */
export interface Entered {
  readonly events: readonly SessionEvent[];
  readonly taken: Taken | undefined;
}

/**
 * The one way into a session's queue of inputs. An input and the right to work on it are one transaction: whenever an input waits, some gateway holds the
 * session, and if that one dies, another finds it by its lease.
 */
@Injectable()
export class TurnDoor {
  constructor(
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
    @Inject(InputsStore) private readonly inputs: InputsStore,
    @Inject(Lease) private readonly lease: Lease,
    @Inject(TurnRunner) private readonly runner: TurnRunner,
    @Inject(SessionLog) private readonly log: SessionLog,
  ) {}

  answerOf(tx: TenantTx, sessionId: string, clientMessageId: string): Promise<Accepted | undefined> {
    return this.inputs.answerOf(tx, sessionId, clientMessageId);
  }

  /**
   * The newest input of a session in which nothing runs or waits. A holder lets go of a session a moment after the event that ends the turn, and
   * readers act on that event: from then on a new input may wait for it. Errors: `turn_running`.
   */
  async lastIdle(tx: TenantTx, session: LockedSession): Promise<TurnInput | undefined> {
    const newest = await this.inputs.newest(tx, session.id);
    const idle = session.owner === null || (newest?.started && (await hasEnded(tx, session.id, newest.input.turnId)));
    if (!idle) throw turnRunning();
    return newest?.input;
  }

  /**
   * Puts an input with its events into the queue and ends the transaction; when nobody holds the session, takes it for this gateway and begins with the input.
   */
  async enter(
    tx: TenantTx,
    tenantId: string,
    session: LockedSession,
    entry: NewInput & { readonly events: readonly PendingEvent[]; readonly title?: string },
  ): Promise<Entered> {
    this.runner.assertOpen();
    const { events, input } = entry;
    const free = session.owner === null;
    const holder = free ? { holder: this.lease.gatewayId } : {};
    const title = entry.title === undefined ? {} : { title: entry.title };
    await tx.finish([
      this.sessions.reserve(tx, session, events.length, { ...title, ...holder }),
      ...(events.length > 0 ? [insertReserved(tx, session.id, session.nextSeq, events)] : []),
      this.inputs.insert(tx, session.id, entry, free),
    ]);
    const lastSeq = session.nextSeq - 1 + events.length;
    const held = { tenantId, sessionId: session.id, fence: fenceAfter(session), lastSeq };
    return { events: toEvents(session.id, session.nextSeq, events), taken: free ? { held, input } : undefined };
  }

  /** After the commit: tells readers and starts to work. */
  open({ events, taken }: Entered): void {
    this.log.publish(events);
    if (taken) this.runner.start(taken.held, { input: taken.input });
  }
}

async function hasEnded(tx: TenantTx, sessionId: string, turnId: string): Promise<boolean> {
  const end = await tx
    .selectFrom('events')
    .select('seq')
    .where('session_id', '=', sessionId)
    .where('turn_id', '=', turnId)
    .where('type', 'in', TURN_ENDS)
    .limit(1)
    .executeTakeFirst();
  return end !== undefined;
}
