import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.ts';
import { ArtifactsModule } from '../artifacts/artifacts.module.ts';
import { FilesModule } from '../files/files.module.ts';
import { IdentityModule } from '../identity/identity.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { RunsModule } from '../runs/runs.module.ts';
import { SessionsModule } from '../sessions/sessions.module.ts';
import { ToolsModule } from '../tools/tools.module.ts';
import { GatewayCalls } from './gateway-calls.ts';
import { InputsStore } from './inputs.store.ts';
import { Lease } from './lease.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { SessionEnding } from './session-ending.ts';
import { SessionSocket } from './session-socket.ts';
import { TurnControlService } from './turn-control.service.ts';
import { TurnDoor } from './turn-door.ts';
import { TurnLoop } from './turn-loop.ts';
import { TurnRunner } from './turn-runner.ts';
import { TurnSources } from './turn-sources.ts';
import { TurnTakeover } from './turn-takeover.ts';
import { TurnsController } from './turns.controller.ts';
import { TurnsService } from './turns.service.ts';

/** Turns: what a message sets off, from its acceptance to the last event of its answer. */
@Module({
  imports: [
    SessionsModule,
    AgentsModule,
    ModelsModule,
    ToolsModule,
    FilesModule,
    RunsModule,
    ArtifactsModule,
    IdentityModule,
  ],
  controllers: [TurnsController],
  providers: [
    TurnsService,
    TurnControlService,
    SessionEnding,
    TurnDoor,
    TurnRunner,
    TurnTakeover,
    TurnLoop,
    TurnSources,
    InputsStore,
    Lease,
    LeaseKeeper,
    GatewayCalls,
    SessionSocket,
  ],
})
export class TurnsModule {}
