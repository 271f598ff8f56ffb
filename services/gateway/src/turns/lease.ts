import { randomUUID } from 'node:crypto';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { Kysely, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { HeldSession } from '../sessions/log-writer.ts';
import { LOG_DB } from '../tokens.ts';

/** A gateway that was not seen for this long has lost its sessions. All times are the database's. */
const LOST_SECONDS = 6;
/** Rows of gateways that are long gone. */
const FORGET_HOURS = 24;
/** Sessions taken in one sweep, so that several gateways share the work. */
const SWEEP_LIMIT = 50;

interface TakenRow {
  id: string;
  tenant_id: string;
  fence: string;
  last_seq: string;
}

const toHeld = (row: TakenRow): HeldSession => ({
  tenantId: row.tenant_id,
  sessionId: row.id,
  fence: row.fence,
  lastSeq: Number(row.last_seq),
});

/** Which gateway holds which session: rows in Postgres, one clock, no key to lose. Runs as moli_log, across tenants. */
@Injectable()
export class Lease {
  /** This process; a new one after each start. */
  readonly gatewayId = randomUUID();
  readonly #db: Kysely<Database>;
  /** Sessions in our name that nobody worked on at the last sweep, with their fence. */
  #orphans = new Map<string, string>();

  constructor(@Inject(LOG_DB) db: Kysely<Database>) {
    this.#db = db;
  }

  /** Says that this process lives, and forgets those that are long gone. */
  async beat(): Promise<void> {
    await sql`insert into gateways (id, seen_at) values (${this.gatewayId}::uuid, clock_timestamp())
      on conflict (id) do update set seen_at = clock_timestamp()`.execute(this.#db);
    await sql`delete from gateways where seen_at < clock_timestamp() - make_interval(hours => ${FORGET_HOURS})`.execute(
      this.#db,
    );
  }

  /** Says that this process is gone; what it still holds is taken over at once. */
  async resign(): Promise<void> {
    await this.#db.deleteFrom('gateways').where('id', '=', this.gatewayId).execute();
  }

  /** Takes sessions whose gateway is gone. */
  async sweep(): Promise<HeldSession[]> {
    const { rows } = await sql<TakenRow>`
      with lost as (
        select s.id from sessions s
        where s.owner is not null and s.owner <> ${this.gatewayId}::uuid and not exists (
          select 1 from gateways g where g.id = s.owner and g.seen_at > clock_timestamp() - make_interval(secs => ${LOST_SECONDS})
        )
        order by s.id limit ${SWEEP_LIMIT} for no key update skip locked
      )
      update sessions s set owner = ${this.gatewayId}::uuid, fence = s.fence + 1 from lost where s.id = lost.id
      returning s.id, s.tenant_id, s.fence, s.next_seq - 1 as last_seq`.execute(this.#db);
    return rows.map(toHeld);
  }

  /**
   * Takes sessions that are in our own name though nobody here works on them: the answer to the commit that took them was lost, or the database was
   * away for too long. Only what looks so in two sweeps is taken, and only under the same fence: a session that is being taken right now is not lost.
   */
  async sweepOrphans(worksOn: (sessionId: string) => boolean): Promise<HeldSession[]> {
    const owned = await this.#db
      .selectFrom('sessions')
      .select(['id', 'fence'])
      .where('owner', '=', this.gatewayId)
      .execute();
    const seen = new Map(owned.filter(({ id }) => !worksOn(id)).map(({ id, fence }) => [id, fence]));
    const lost = [...seen].filter(([id, fence]) => this.#orphans.get(id) === fence);
    this.#orphans = seen;
    const taken: HeldSession[] = [];
    for (const [id, fence] of lost) {
      const { rows } = await sql<TakenRow>`update sessions s set fence = s.fence + 1
        where s.id = ${id} and s.owner = ${this.gatewayId}::uuid and s.fence = ${fence}::bigint
        returning s.id, s.tenant_id, s.fence, s.next_seq - 1 as last_seq`.execute(this.#db);
      taken.push(...rows.map(toHeld));
    }
    if (taken.length > 0) log.warn('sessions in our own name were left behind', { sessions: taken.length });
    return taken;
  }
}
