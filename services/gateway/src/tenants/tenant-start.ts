import { Inject, Injectable } from '@nestjs/common';
import { AgentsStore } from '../agents/agents.store.ts';
import type { TenantTx } from '../database/tenant-db.ts';
import { ModelsService } from '../models/models.service.ts';

/** What a tenant starts with, in the transaction that makes it: a default agent and the model of the configuration. */
@Injectable()
export class TenantStart {
  constructor(
    @Inject(AgentsStore) private readonly agents: AgentsStore,
    @Inject(ModelsService) private readonly models: ModelsService,
  ) {}

  async fill(tx: TenantTx, tenantId: string): Promise<void> {
    await this.agents.insertDefault(tx);
    await this.models.insertConfigured(tx, tenantId);
  }

  /** For a tenant that was made before a model was configured. Answers whether one was added; a tenant with models keeps them as they are. */
  async addMissingModel(tx: TenantTx, tenantId: string): Promise<boolean> {
    const { n } = await tx
      .selectFrom('model_configs')
      .select((eb) => eb.fn.countAll<string>().as('n'))
      .executeTakeFirstOrThrow();
    return n === '0' && (await this.models.insertConfigured(tx, tenantId)) !== null;
  }
}
