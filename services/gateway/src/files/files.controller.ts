import type { ByteRange } from '@moli/objects';
import { contentDisposition } from '@moli/objects';
import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Query,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
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
  async getFileContent(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: FileId }) id: string,
    @Headers('range') rangeHeader: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    const { file, object } = await this.files.open(caller, id, parseRange(rangeHeader));
    const { start, end } = object.range;
    reply.header('accept-ranges', 'bytes');
    reply.header('content-security-policy', "sandbox; default-src 'none'");
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'private, no-store');
    if (rangeHeader && parseRange(rangeHeader))
      reply.status(206).header('content-range', `bytes ${start}-${end}/${file.bytes}`);
    return new StreamableFile(object.stream, {
      type: file.mimeType,
      disposition: contentDisposition(file.name, 'attachment'),
      length: end - start + 1,
    });
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

/** One `bytes=first-last` or `bytes=first-` range; anything else (several, suffix, other units) gets the whole file, as RFC 9110 allows. */
function parseRange(header: string | undefined): ByteRange | undefined {
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? '');
  if (!match) return undefined;
  const start = Number(match[1]);
  if (match[2] === '') return { start };
  const end = Number(match[2]);
  return end < start ? undefined : { start, end };
}
