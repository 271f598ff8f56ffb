import { Module } from '@nestjs/common';
import { ArtifactsModule } from '../artifacts/artifacts.module.ts';
import { FilesModule } from '../files/files.module.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { LinksProcessor } from './links.processor.ts';
import { RunAccess } from './run.access.ts';
import { RunInputs } from './run.inputs.ts';
import { RunBounds } from './run.limits.ts';
import { RunQueue } from './run.queue.ts';
import { RunSettler } from './run.settler.ts';
import { RunStreams } from './run.streams.ts';
import { RunSweep } from './run.sweep.ts';
import { RunWatch } from './run.watch.ts';
import { RunsController } from './runs.controller.ts';
import { RunsService } from './runs.service.ts';
import { RunsStore } from './runs.store.ts';

@Module({
  imports: [ArtifactsModule, FilesModule],
  controllers: [RunsController],
  providers: [
    RunsService,
    RunsStore,
    RunAccess,
    RunInputs,
    RunQueue,
    RunStreams,
    RunSettler,
    RunWatch,
    RunSweep,
    LinksProcessor,
    SessionsStore,
    { provide: RunBounds, useFactory: () => new RunBounds() },
  ],
  exports: [RunsService],
})
export class RunsModule {}
