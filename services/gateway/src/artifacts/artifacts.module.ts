import { Module } from '@nestjs/common';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { ArtifactsController } from './artifacts.controller.ts';
import { ArtifactsService } from './artifacts.service.ts';
import { ArtifactsStore } from './artifacts.store.ts';

@Module({
  controllers: [ArtifactsController],
  providers: [ArtifactsService, ArtifactsStore, SessionsStore],
  exports: [ArtifactsService, ArtifactsStore],
})
export class ArtifactsModule {}
