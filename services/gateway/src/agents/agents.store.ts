import type { Locale } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import type { GatewayConfig } from '../config.ts';
import type { Database } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';
import { newId } from '../ids.ts';
import { CONFIG } from '../tokens.ts';
import type { Agent, AgentChange, NewAgent } from './agents.schema.ts';
import { DEFAULT_AGENT, DEFAULT_TOOLS } from './system-prompt.ts';

const toAgent = (row: Selectable<Database['agents']>): Agent => ({
  id: row.id,
  name: row.name,
  ...(row.avatar === null ? {} : { avatar: row.avatar }),
  systemPrompt: row.system_prompt,
  routing: row.routing,
  tools: row.tools,
  context: row.context,
  createdAt: row.created_at.toISOString(),
});

/** The `agents` table. */
@Injectable()
export class AgentsStore {
  constructor(@Inject(CONFIG) private readonly config: GatewayConfig) {}

  /** Oldest first: the first one is the default. */
  async list(tx: TenantTx): Promise<Agent[]> {
    const rows = await tx.selectFrom('agents').selectAll().orderBy('created_at').orderBy('id').execute();
    return rows.map(toAgent);
  }

  async get(tx: TenantTx, id: string): Promise<Agent | null> {
    const row = await tx.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst();
    return row ? toAgent(row) : null;
  }

  /** The tenant's oldest agent, or null when it has none. */
  async first(tx: TenantTx): Promise<Agent | null> {
    const row = await tx
      .selectFrom('agents')
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return row ? toAgent(row) : null;
  }

  async insert(tx: TenantTx, agent: NewAgent): Promise<Agent> {
    const row = await tx
      .insertInto('agents')
      .values({
        id: newId('agt'),
        name: agent.name,
        avatar: agent.avatar ?? null,
        system_prompt: agent.systemPrompt ?? '',
        routing: JSON.stringify(agent.routing ?? { mode: 'fixed', modelConfigId: null }),
        tools: JSON.stringify(agent.tools ?? DEFAULT_TOOLS),
        context: JSON.stringify(agent.context ?? { maxTokens: null }),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return toAgent(row);
  }

  /** The agent that a new tenant starts with, in the language of the configuration where none is named. */
  async insertDefault(tx: TenantTx, locale: Locale = this.config.locale): Promise<Agent> {
    return this.insert(tx, { ...DEFAULT_AGENT[locale], tools: [...DEFAULT_TOOLS] });
  }

  async update(tx: TenantTx, id: string, change: AgentChange): Promise<Agent | null> {
    const values = {
      ...(change.name === undefined ? {} : { name: change.name }),
      ...(change.avatar === undefined ? {} : { avatar: change.avatar }),
      ...(change.systemPrompt === undefined ? {} : { system_prompt: change.systemPrompt }),
      ...(change.routing === undefined ? {} : { routing: JSON.stringify(change.routing) }),
      ...(change.tools === undefined ? {} : { tools: JSON.stringify(change.tools) }),
      ...(change.context === undefined ? {} : { context: JSON.stringify(change.context) }),
    };
    if (Object.keys(values).length === 0) return this.get(tx, id);
    const row = await tx.updateTable('agents').set(values).where('id', '=', id).returningAll().executeTakeFirst();
    return row ? toAgent(row) : null;
  }

  /** Sessions that use the agent. */
  async sessionsOf(tx: TenantTx, id: string): Promise<number> {
    const { count } = await tx
      .selectFrom('sessions')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .where('agent_id', '=', id)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  async delete(tx: TenantTx, id: string): Promise<boolean> {
    const { numDeletedRows } = await tx.deleteFrom('agents').where('id', '=', id).executeTakeFirst();
    return numDeletedRows > 0n;
  }
}
