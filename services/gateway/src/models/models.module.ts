import { Module } from '@nestjs/common';
import { ModelsController } from './models.controller.ts';
import { ModelsService } from './models.service.ts';
import { ModelsStore } from './models.store.ts';

@Module({
  controllers: [ModelsController],
  providers: [ModelsService, ModelsStore],
  exports: [ModelsService, ModelsStore],
})
export class ModelsModule {}
