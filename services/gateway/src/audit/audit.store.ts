import { Injectable } from '@nestjs/common';
import type { TenantTx } from '../database/tenant-db.ts';

/** What happened, to what, and how it ended. `detail` holds ids and numbers, never content or secrets. */
export interface AuditRow {
  /** Noun and verb, such as `key.create`, `run.start`, `file.delete`. */
  readonly action: string;
  readonly target?: string;
  readonly outcome: 'ok' | 'refused' | 'failed';
  readonly detail?: Record<string, unknown>;
}

/** The append-only record of who did what. The database lets nobody change or remove a row. */
@Injectable()
export class AuditStore {
  /** Writes the row in the transaction of the act itself: one is not there without the other. */
  async append(tx: TenantTx, caller: { readonly actor: string }, row: AuditRow): Promise<void> {
    await this.statement(tx, caller, row).execute();
  }

  /** The statement that writes the row, for `TenantTx.finish`. */
  statement(tx: TenantTx, caller: { readonly actor: string }, row: AuditRow) {
    return tx.insertInto('audit').values({
      actor: caller.actor,
      action: row.action,
      target: row.target ?? null,
      outcome: row.outcome,
      detail: JSON.stringify(row.detail ?? {}),
    });
  }
}
