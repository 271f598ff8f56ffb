import { Module } from '@nestjs/common';
import { ModelsModule } from '../models/models.module.ts';
import { ToolsModule } from '../tools/tools.module.ts';
import { AgentsController } from './agents.controller.ts';
import { AgentsService } from './agents.service.ts';
import { AgentsStore } from './agents.store.ts';

@Module({
  imports: [ModelsModule, ToolsModule],
  controllers: [AgentsController],
  providers: [AgentsService, AgentsStore],
  exports: [AgentsService, AgentsStore],
})
export class AgentsModule {}
