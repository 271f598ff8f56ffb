import { Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { FilesModule } from '../files/files.module.ts';
import { registerUploads } from './uploads.routes.ts';
import { UploadsService } from './uploads.service.ts';

@Module({ imports: [FilesModule], providers: [UploadsService] })
export class UploadsModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly uploads: UploadsService,
  ) {}

  async onModuleInit(): Promise<void> {
    await registerUploads(this.host.httpAdapter.getInstance<FastifyInstance>(), this.uploads);
  }
}
