import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database/schema.ts';
import type { TenantTx } from '../database/tenant-db.ts';

export type ModelRow = Selectable<Database['model_configs']>;
export interface ModelValues {
  name?: string;
  base_url?: string;
  model?: string;
  key_sealed?: Buffer | null;
  context_tokens?: number;
  is_default?: boolean;
}

/** The `model_configs` table. At most one row of a tenant is the default. */
@Injectable()
export class ModelsStore {
  async list(tx: TenantTx): Promise<ModelRow[]> {
    return tx.selectFrom('model_configs').selectAll().orderBy('created_at').orderBy('id').execute();
  }

  async get(tx: TenantTx, id: string): Promise<ModelRow | null> {
    return (await tx.selectFrom('model_configs').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
  }

  async default(tx: TenantTx): Promise<ModelRow | null> {
    return (await tx.selectFrom('model_configs').selectAll().where('is_default', '=', true).executeTakeFirst()) ?? null;
  }

  /** The model that an agent names, else the default. */
  async ofAgent(tx: TenantTx, agentId: string): Promise<ModelRow | null> {
    const named = sql<boolean>`model_configs.id = agents.routing->>'modelConfigId'`;
    const row = await tx
      .selectFrom('agents')
      .innerJoin('model_configs', (join) => join.on((on) => on.or([named, on('model_configs.is_default', '=', true)])))
      .selectAll('model_configs')
      .where('agents.id', '=', agentId)
      .orderBy(sql`(${named}) is true`, 'desc')
      .limit(1)
      .executeTakeFirst();
    return row ?? null;
  }

  async insert(
    tx: TenantTx,
    row: Required<Omit<ModelValues, 'is_default'>> & { id: string; is_default: boolean; scripted: boolean },
  ): Promise<ModelRow> {
    return tx.insertInto('model_configs').values(row).returningAll().executeTakeFirstOrThrow();
  }

  async update(tx: TenantTx, id: string, values: ModelValues): Promise<ModelRow | null> {
    if (Object.keys(values).length === 0) return this.get(tx, id);
    const row = await tx
      .updateTable('model_configs')
      .set(values)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    return row ?? null;
  }

  /** Nobody is the default after this; the caller names the next one in the same transaction. */
  async clearDefault(tx: TenantTx): Promise<void> {
    await tx.updateTable('model_configs').set({ is_default: false }).where('is_default', '=', true).execute();
  }

  /** Serialises changes of one tenant's models: two first models at once must not both become the default. */
  async lock(tx: TenantTx, tenantId: string): Promise<void> {
    await tx.selectFrom('tenants').select('id').where('id', '=', tenantId).forUpdate().execute();
  }

  async delete(tx: TenantTx, id: string): Promise<boolean> {
    const { numDeletedRows } = await tx.deleteFrom('model_configs').where('id', '=', id).executeTakeFirst();
    return numDeletedRows > 0n;
  }
}
