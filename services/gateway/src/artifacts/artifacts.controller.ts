import { contentDisposition } from '@moli/objects';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Query,
  Req,
  Res,
  type StreamableFile,
} from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { ApiContent, type ContentOptions, sendContent } from '../objects/content.ts';
import { ArtifactId, ArtifactLink, ArtifactLinkRequest, ContentQuery } from './artifacts.schema.ts';
import { ArtifactsService } from './artifacts.service.ts';
import { framedPage } from './html-frame.ts';

/** Shown in the page itself; SVG is not among them, since it can carry script. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

/** A page that a run made may run its own inline script, in an origin of its own, and reach nothing. */
const HTML_POLICY =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";
const FILE_POLICY = "sandbox; default-src 'none'";

@Controller('v1/artifacts')
export class ArtifactsController {
  constructor(@Inject(ArtifactsService) private readonly artifacts: ArtifactsService) {}

  /** The bytes. Images are shown in place, HTML in a sealed frame, everything else is downloaded. */
  @Get(':id/content')
  @ApiOperation({
    summary: 'The bytes of an artifact',
    description:
      'Images and HTML are shown in place, HTML sealed by its `Content-Security-Policy`: in an origin of its own, where its inline script may run and reaches nothing. Everything else is a download.',
  })
  @ApiContent()
  async getArtifactContent(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: ArtifactId }) id: string,
    @Query({ schema: ContentQuery }) query: z.infer<typeof ContentQuery>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    const artifact = await this.artifacts.find(caller, id);
    const html = artifact.mime_type === 'text/html';
    const inline = query.download !== '1' && (html || IMAGES.has(artifact.mime_type));
    const options: ContentOptions = {
      stored: artifact,
      type: html ? 'text/html; charset=utf-8' : artifact.mime_type,
      disposition: contentDisposition(artifact.name, inline ? 'inline' : 'attachment'),
      open: (range) => this.artifacts.open(artifact, range),
    };
    const framed = html && inline && query.frame === '1';
    const content = await (framed ? framedPage(options) : sendContent(request, reply, options));
    reply.headers({
      'content-security-policy': html ? HTML_POLICY : FILE_POLICY,
      'x-content-type-options': 'nosniff',
      // The content of an id never changes.
      'cache-control': 'private, max-age=3600, immutable',
      // The workbench frames HTML of a run; nobody else may.
      'x-frame-options': 'SAMEORIGIN',
    });
    return content;
  }

  @Post(':id/token')
  @HttpCode(200)
  @ApiResponse({ status: 200, standardSchema: ArtifactLink })
  async signArtifact(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: ArtifactId }) id: string,
    @Body({ schema: ArtifactLinkRequest }) body: z.infer<typeof ArtifactLinkRequest>,
  ): Promise<z.infer<typeof ArtifactLink>> {
    return this.artifacts.sign(caller, id, body.expiresInSeconds);
  }
}
