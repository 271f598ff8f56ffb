import { Inject, Injectable } from '@nestjs/common';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { SessionLog } from '../sessions/session-log.ts';
import { sessionNotFound } from '../sessions/sessions.errors.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { GatewayCalls } from './gateway-calls.ts';
import { Lease } from './lease.ts';
import { TurnCut } from './turn-cut.ts';
import { TurnRunner } from './turn-runner.ts';

/** Ends turns from outside, in this gateway or another, and takes sessions out of use before they are deleted. */
@Injectable()
export class SessionEnding {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
    @Inject(SessionLog) private readonly log: SessionLog,
    @Inject(Lease) private readonly lease: Lease,
    @Inject(TurnRunner) private readonly runner: TurnRunner,
    @Inject(GatewayCalls) private readonly calls: GatewayCalls,
  ) {}

  /** Errors: `not_found`. */
  async assertVisible(caller: Caller, sessionId: string): Promise<void> {
    const row = await this.db.as(caller.tenantId, (tx) => this.sessions.get(tx, caller, sessionId));
    if (!row) throw sessionNotFound();
  }

  /** Whether there was a turn to stop. Errors: `not_found`. */
  async stop(caller: Caller, sessionId: string): Promise<boolean> {
    const row = await this.db.as(caller.tenantId, (tx) => this.sessions.get(tx, caller, sessionId));
    if (!row) throw sessionNotFound();
    return this.#cut(sessionId, row.owner, new TurnCut('stopped', caller.actor));
  }

  /**
   * Takes a session away from whoever writes to it and ends its turn; nobody starts another one. The answer gives the session up again. Errors:
   * `not_found`.
   */
  async begin(caller: Caller, sessionId: string): Promise<() => void> {
    const giveUp = this.runner.setAside(sessionId);
    try {
      const owner = await this.db.as(caller.tenantId, async (tx) => {
        const session = await this.sessions.lock(tx, caller, sessionId);
        if (!session) throw sessionNotFound();
        await this.sessions.take(tx, session, this.lease.gatewayId);
        return session.owner;
      });
      await this.#cut(sessionId, owner, new TurnCut('dropped'));
      return giveUp;
    } catch (error) {
      giveUp();
      throw error;
    }
  }

  /** Deletes the session's row and with it all rows that belong to it. */
  deleteRows(tx: TenantTx, sessionId: string): Promise<void> {
    return this.sessions.delete(tx, sessionId);
  }

  /** The last event of a session; it is not in the log any more. */
  tellReaders(sessionId: string): void {
    this.log.publish([{ seq: 0, sessionId, type: 'session.deleted', at: new Date().toISOString(), data: {} }]);
  }

  async #cut(sessionId: string, owner: string | null, cut: TurnCut): Promise<boolean> {
    if (this.runner.cut(sessionId, cut)) return true;
    if (owner === null || owner === this.lease.gatewayId || cut.kind === 'interrupted') return false;
    return this.calls.send(owner, { kind: cut.kind, sessionId, ...(cut.by ? { by: cut.by } : {}) });
  }
}
