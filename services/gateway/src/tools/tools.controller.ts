import { AppError } from '@moli/errors';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import type { ToolResult } from './tool.types.ts';
import { openAiTools } from './tool-registry.ts';
import { ExecuteQuery, OpenAiTools, ToolAnswer, ToolName } from './tools.schema.ts';
import { ToolsService } from './tools.service.ts';

/** Tools for programs: their list in OpenAI's form, and a call to one of them. The same door as a turn's calls. */
@Controller('tools')
export class ToolsController {
  constructor(@Inject(ToolsService) private readonly tools: ToolsService) {}

  @Get('openai')
  @ApiResponse({ status: 200, standardSchema: OpenAiTools })
  listOpenAiTools(@CurrentCaller() caller: Caller): ReturnType<typeof openAiTools> {
    return openAiTools(this.tools.offered(caller));
  }

  /**
   * 200 with the envelope whenever the tool was called, also when it failed (`ok: false`). `sessionId` lets it see that session's files.
   * Errors: `unknown_tool`, `bad_arguments` with the path of each fault in `issues`.
   */
  @Post(':name/execute')
  @HttpCode(200)
  @ApiBody({
    description: 'The arguments as an object, or as a JSON string of one',
    schema: { oneOf: [{ type: 'object' }, { type: 'string' }] },
  })
  @ApiResponse({ status: 200, standardSchema: ToolAnswer })
  async executeTool(
    @CurrentCaller() caller: Caller,
    @Param('name', { schema: ToolName }) name: string,
    @Query({ schema: ExecuteQuery }) query: ExecuteQuery,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ToolAnswer> {
    const leaves = new AbortController();
    const onClose = () => reply.raw.writableFinished || leaves.abort(new Error('the caller left'));
    reply.raw.once('close', onClose);
    const result = await this.tools.call(caller, {
      name,
      rawArguments:
        typeof body === 'string' || (typeof body === 'object' && body !== null) ? body : JSON.stringify(body ?? {}),
      offered: this.tools.offered(caller),
      callId: newId('call'),
      signal: leaves.signal,
      sessionId: query.sessionId,
    });
    return answerOf(result, name);
  }
}

/** The envelope as it goes out, without what only a turn needs. Calls that reached no tool are errors of the request. */
function answerOf({ outcome: _, arguments: __, ...result }: ToolResult, name: string): ToolAnswer {
  const { error } = result;
  if (error?.code === 'unknown_tool') {
    const shown = name.slice(0, 64).toWellFormed();
    throw new AppError('unknown_tool', {
      zh: `没有名为“${shown}”的工具。可用的工具见 GET /tools/openai。`,
      en: `There is no tool named "${shown}". GET /tools/openai lists what there is.`,
    });
  }
  if (error?.code === 'bad_arguments') {
    const { explanation = { zh: error.message, en: error.message }, issues = [] } = error;
    throw new AppError('bad_arguments', explanation, { fields: { issues } });
  }
  return result as ToolAnswer;
}
