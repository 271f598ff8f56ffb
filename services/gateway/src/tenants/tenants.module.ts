import { Module } from '@nestjs/common';
import { AgentsStore } from '../agents/agents.store.ts';
import { IdentityModule } from '../identity/identity.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { AcceptService } from './accept.service.ts';
import { InvitationsController } from './invitations.controller.ts';
import { InvitationsService } from './invitations.service.ts';
import { InvitationsStore } from './invitations.store.ts';
import { MembersController } from './members.controller.ts';
import { MembersService } from './members.service.ts';
import { MembersStore } from './members.store.ts';
import { TenantStart } from './tenant-start.ts';
import { TenantsService } from './tenants.service.ts';

@Module({
  imports: [IdentityModule, ModelsModule],
  controllers: [MembersController, InvitationsController],
  providers: [
    AgentsStore,
    AcceptService,
    InvitationsService,
    InvitationsStore,
    MembersService,
    MembersStore,
    TenantStart,
    TenantsService,
  ],
  exports: [InvitationsService, MembersStore, TenantsService],
})
export class TenantsModule {}
