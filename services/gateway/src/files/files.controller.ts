import { contentDisposition } from '@moli/objects';
import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { ApiContent, sendContent } from '../objects/content.ts';
import { File, FileId, FileList, FileQuery, SignedFileLink, TokenRequest } from './files.schema.ts';
import { FilesService } from './files.service.ts';

/** Metadata, bytes and links of uploaded files. `POST /v1/files` is in `files.multipart.ts`. */
@Controller('v1/files')
export class FilesController {
  constructor(private readonly files: FilesService) {}

  @Get()
  @ApiResponse({ status: 200, standardSchema: FileList })
  async listFiles(
    @CurrentCaller() caller: Caller,
    @Query({ schema: FileQuery }) query: z.infer<typeof FileQuery>,
  ): Promise<z.infer<typeof FileList>> {
    return { items: await this.files.list(caller, query.sessionId) };
  }

  @Get(':id')
  @ApiResponse({ status: 200, standardSchema: File })
  async getFile(@CurrentCaller() caller: Caller, @Param('id', { schema: FileId }) id: string): Promise<File> {
    return this.files.get(caller, id);
  }

  /** The bytes as an attachment; one byte range is honoured. Uploaded content never runs in our origin. */
  @Get(':id/content')
  @ApiOperation({ summary: 'The bytes of a file, as a download' })
  @ApiContent()
  async getFileContent(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: FileId }) id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    const file = await this.files.find(caller, id);
    const content = await sendContent(request, reply, {
      stored: file,
      type: file.mime_type,
      disposition: contentDisposition(file.name, 'attachment'),
      open: (range) => this.files.open(file, range),
    });
    reply.headers({
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
    return content;
  }

  @Post(':id/token')
  @HttpCode(200)
  @ApiResponse({ status: 200, standardSchema: SignedFileLink })
  async signFile(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: FileId }) id: string,
    @Body({ schema: TokenRequest }) body: z.infer<typeof TokenRequest>,
  ): Promise<z.infer<typeof SignedFileLink>> {
    return this.files.sign(caller, id, body.expiresInSeconds);
  }

  @Delete(':id')
  @HttpCode(204)
  async deleteFile(@CurrentCaller() caller: Caller, @Param('id', { schema: FileId }) id: string): Promise<void> {
    await this.files.remove(caller, id);
  }
}
