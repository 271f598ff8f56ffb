import type { Locale } from '@moli/errors';
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

  async fill(tx: TenantTx, tenantId: string, locale: Locale | undefined): Promise<void> {
    await this.agents.insertDefault(tx, locale);
    await this.models.applyConfigured(tx, tenantId);
  }

  /** For the first tenant at each start: the model of the configuration as it stands now. Answers whether it has a model. */
  async refresh(tx: TenantTx, tenantId: string): Promise<boolean> {
    return this.models.applyConfigured(tx, tenantId);
  }
}
