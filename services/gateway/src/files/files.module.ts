import { Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { FileIntake } from './file-intake.ts';
import { FilesController } from './files.controller.ts';
import { registerFileUpload } from './files.multipart.ts';
import { FilesService } from './files.service.ts';
import { FilesStore } from './files.store.ts';

@Module({
  controllers: [FilesController],
  providers: [FilesService, FileIntake, FilesStore, SessionsStore],
  exports: [FilesService, FileIntake],
})
export class FilesModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly files: FilesService,
    private readonly intake: FileIntake,
  ) {}

  async onModuleInit(): Promise<void> {
    await registerFileUpload(this.host.httpAdapter.getInstance<FastifyInstance>(), {
      files: this.files,
      intake: this.intake,
    });
  }
}
