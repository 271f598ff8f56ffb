import { Body, Controller, Get, Header, HttpCode, Inject, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { Metrics } from '../metrics.ts';
import { Drain } from '../web/drain.ts';
import { resumeAfter, streamEvents, wantsPage } from './event-stream.ts';
import { exportDisposition, exportJson, exportMarkdown } from './session-export.ts';
import {
  EventQuery,
  ExportQuery,
  Message,
  MessageChange,
  MessageId,
  MessageList,
  NewSession,
  Session,
  SessionChange,
  SessionId,
  SessionPage,
  SessionQuery,
} from './sessions.schema.ts';
import { SessionsService } from './sessions.service.ts';

/** Sessions and the reading of their logs. */
@ApiTags('sessions')
@Controller('v1/sessions')
export class SessionsController {
  constructor(
    @Inject(SessionsService) private readonly sessions: SessionsService,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(Drain) private readonly drain: Drain,
  ) {}

  @Get()
  @ApiResponse({ status: 200, standardSchema: SessionPage })
  listSessions(@CurrentCaller() caller: Caller, @Query({ schema: SessionQuery }) query: z.infer<typeof SessionQuery>) {
    return this.sessions.list(caller, query);
  }

  @Post()
  @HttpCode(201)
  @ApiResponse({ status: 201, standardSchema: Session })
  createSession(@CurrentCaller() caller: Caller, @Body({ schema: NewSession }) body: z.infer<typeof NewSession>) {
    return this.sessions.create(caller, body);
  }

  @Get(':id')
  @ApiResponse({ status: 200, standardSchema: Session })
  getSession(@CurrentCaller() caller: Caller, @Param('id', { schema: SessionId }) id: string) {
    return this.sessions.get(caller, id);
  }

  @Patch(':id')
  @ApiResponse({ status: 200, standardSchema: Session })
  updateSession(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Body({ schema: SessionChange }) body: z.infer<typeof SessionChange>,
  ) {
    return this.sessions.change(caller, id, body);
  }

  @Get(':id/messages')
  @ApiResponse({ status: 200, standardSchema: MessageList })
  listMessages(@CurrentCaller() caller: Caller, @Param('id', { schema: SessionId }) id: string) {
    return this.sessions.messages(caller, id);
  }

  @Patch(':id/messages/:messageId')
  @ApiResponse({ status: 200, standardSchema: Message })
  editMessage(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Param('messageId', { schema: MessageId }) messageId: string,
    @Body({ schema: MessageChange }) body: z.infer<typeof MessageChange>,
  ) {
    return this.sessions.edit(caller, id, messageId, body.text);
  }

  /** The log: as a stream of server-sent events that replays and then follows, or with `Accept: application/json` one page of it. */
  @Get(':id/events')
  async readEvents(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Query({ schema: EventQuery }) query: z.infer<typeof EventQuery>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const after = resumeAfter(request, query.after);
    if (wantsPage(request)) {
      const items = await this.sessions.page(caller, id, after, query.limit);
      await reply.header('cache-control', 'no-store').send({ items, lastSeq: items.at(-1)?.seq ?? after });
      return;
    }
    await this.sessions.row(caller, id);
    this.metrics.readers.inc({ transport: 'sse' });
    try {
      await streamEvents(reply, this.drain.away, (signal) => this.sessions.follow(caller, id, after, signal));
    } finally {
      this.metrics.readers.dec({ transport: 'sse' });
    }
  }

  /** The whole session as a file: Markdown for people, JSON with every event for an import. */
  @Get(':id/export')
  @Header('cache-control', 'no-store')
  async exportSession(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Query({ schema: ExportQuery }) { format }: z.infer<typeof ExportQuery>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { session, events } = await this.sessions.whole(caller, id);
    reply.header('content-disposition', exportDisposition(session, format)).header('x-content-type-options', 'nosniff');
    if (format === 'json') await reply.send(exportJson(session, events, new Date()));
    else await reply.type('text/markdown; charset=utf-8').send(exportMarkdown(session, events, caller.locale));
  }
}
