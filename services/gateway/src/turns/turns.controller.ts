import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { SessionArtifact } from '../artifacts/artifacts.schema.ts';
import { File } from '../files/files.schema.ts';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { Accepted, MessageId, NewMessage, Nothing, Resend, SessionId } from '../sessions/sessions.schema.ts';
import { TurnControlService } from './turn-control.service.ts';
import { TurnsService } from './turns.service.ts';

const SessionFiles = z
  .object({ files: z.array(File), artifacts: z.array(SessionArtifact) })
  .meta({ id: 'SessionFiles' });
const Stopping = z.object({ running: z.boolean() }).meta({ id: 'Stopping' });

/** What starts and ends turns, and what a session holds besides words. */
@ApiTags('sessions')
@Controller('v1/sessions/:id')
export class TurnsController {
  constructor(
    @Inject(TurnsService) private readonly turns: TurnsService,
    @Inject(TurnControlService) private readonly control: TurnControlService,
  ) {}

  @Post('messages')
  @HttpCode(202)
  @ApiResponse({ status: 202, standardSchema: Accepted })
  sendMessage(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Body({ schema: NewMessage }) body: NewMessage,
  ) {
    return this.turns.send(caller, id, body);
  }

  /** Ends the running turn as `stopped`; messages that wait are answered after it. */
  @Post('stop')
  @HttpCode(202)
  @ApiResponse({ status: 202, standardSchema: Stopping })
  stopTurn(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Body({ schema: Nothing }) _body: unknown,
  ) {
    return this.control.stop(caller, id);
  }

  /** Goes on writing an answer that was stopped, interrupted or failed. */
  @Post('continue')
  @HttpCode(202)
  @ApiResponse({ status: 202, standardSchema: Accepted })
  continueAnswer(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Body({ schema: Nothing }) _body: unknown,
  ) {
    return this.turns.continue(caller, id);
  }

  /** Answers the last message anew, edited or not. */
  @Post('messages/:messageId/resend')
  @HttpCode(202)
  @ApiResponse({ status: 202, standardSchema: Accepted })
  resendMessage(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: SessionId }) id: string,
    @Param('messageId', { schema: MessageId }) messageId: string,
    @Body({ schema: Resend.optional() }) body: z.infer<typeof Resend> | undefined,
  ) {
    return this.turns.resend(caller, id, messageId, body?.text);
  }

  @Get('files')
  @ApiResponse({ status: 200, standardSchema: SessionFiles })
  listSessionFiles(@CurrentCaller() caller: Caller, @Param('id', { schema: SessionId }) id: string) {
    return this.control.listFiles(caller, id);
  }

  @Delete()
  @HttpCode(204)
  async deleteSession(@CurrentCaller() caller: Caller, @Param('id', { schema: SessionId }) id: string): Promise<void> {
    await this.control.remove(caller, id);
  }
}
