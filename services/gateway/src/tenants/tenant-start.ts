import { Inject, Injectable } from '@nestjs/common';
import { AgentsStore } from '../agents/agents.store.ts';
import type { TenantTx } from '../database/tenant-db.ts';

/** What a new tenant starts with, in the transaction that makes it: a default agent. */
@Injectable()
export class TenantStart {
  constructor(@Inject(AgentsStore) private readonly agents: AgentsStore) {}

  async fill(tx: TenantTx): Promise<void> {
    await this.agents.insertDefault(tx);
  }
}
