import { Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { FilesController } from './files.controller.ts';
import { registerFileUpload } from './files.multipart.ts';
import { FilesService } from './files.service.ts';
import { FilesStore } from './files.store.ts';

@Module({
  controllers: [FilesController],
  providers: [FilesService, FilesStore, SessionsStore],
  exports: [FilesService],
})
export class FilesModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly files: FilesService,
  ) {}

  async onModuleInit(): Promise<void> {
    await registerFileUpload(this.host.httpAdapter.getInstance<FastifyInstance>(), this.files);
  }
}
