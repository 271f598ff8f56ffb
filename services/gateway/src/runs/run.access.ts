import { AppError } from '@moli/errors';
import type { Verdict } from '@moli/queue';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { TenantDb } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { sessionNotFound } from '../sessions/sessions.errors.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { typeOf } from './run.result.ts';
import { runNotFound } from './runs.errors.ts';
import type { RunList, RunQuery, RunSummary } from './runs.schema.ts';
import { type RunRow, RunsStore } from './runs.store.ts';

/** Who sees which run: one of a session is as visible as the session, any other belongs to who started it. */
@Injectable()
export class RunAccess {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(RunsStore) private readonly store: RunsStore,
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
  ) {}

  /** Errors: `not_found`, the same for an absent and a foreign id. */
  async visible(caller: Caller, runId: string): Promise<RunRow> {
    const row = await this.db.as(caller.tenantId, (tx) => this.store.get(tx, runId));
    if (!row) throw runNotFound();
    await this.check(caller, row);
    return row;
  }

  /** Errors: `not_found`. */
  async check(caller: Caller, row: RunRow): Promise<void> {
    const { session_id: sessionId, user_id: owner } = row;
    if (sessionId) {
      const session = await this.db.as(caller.tenantId, (tx) => this.sessions.get(tx, caller, sessionId));
      if (!session) throw runNotFound();
    } else if (caller.userId !== null && owner !== null && owner !== caller.userId) throw runNotFound();
  }

  /** Newest first. Errors: `not_found` (session), `bad_request` (cursor). */
  async list(caller: Caller, query: z.infer<typeof RunQuery>): Promise<z.infer<typeof RunList>> {
    const { sessionId, cursor, limit } = query;
    const rows = await this.db.as(caller.tenantId, async (tx) => {
      if (sessionId && !(await this.sessions.get(tx, caller, sessionId))) throw sessionNotFound();
      return this.store.list(tx, caller, { sessionId, before: placeOf(cursor), limit: limit + 1 });
    });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(summary),
      nextCursor: rows.length > limit && last ? cursorOf(last) : null,
    };
  }
}

type ListRow = Awaited<ReturnType<RunsStore['list']>>[number];

const summary = (row: ListRow): RunSummary => ({
  runId: row.id,
  state: row.verdict === null ? 'open' : 'finished',
  verdict: row.verdict as Verdict | null,
  type: row.verdict === null ? null : typeOf(row.verdict as Verdict),
  sessionId: row.session_id,
  rerunOf: row.rerun_of,
  createdAt: row.created_at.toISOString(),
  finishedAt: row.finished_at?.toISOString() ?? null,
});

/** A place in the list: the last row's time and id. */
function cursorOf({ created_at, id }: ListRow): string {
  return Buffer.from(`${created_at.toISOString()} ${id}`).toString('base64url');
}

function placeOf(cursor: string | undefined): { createdAt: Date; id: string } | undefined {
  if (cursor === undefined) return undefined;
  const [time = '', id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  const createdAt = new Date(time);
  if (!Number.isNaN(createdAt.getTime()) && /^run_[0-9a-f]{32}$/.test(id)) return { createdAt, id };
  throw new AppError('bad_request', {
    zh: 'cursor 不是本接口给出的值。请从第一页重新读取。',
    en: 'The cursor is not one that this route gave out. Start again from the first page.',
  });
}
