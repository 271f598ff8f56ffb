import { acceptFileName } from '@moli/objects';
import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { Drain } from '../web/drain.ts';
import { RunAccess } from './run.access.ts';
import { resumeAfter, sendEntries, sendFinished } from './run.events.ts';
import { RunQueue } from './run.queue.ts';
import { RunStreams } from './run.streams.ts';
import { ExecuteRequest, RunAccepted, RunId, RunList, RunPending, RunQuery, RunResult } from './runs.schema.ts';
import { RunsService } from './runs.service.ts';

type Accepted = z.infer<typeof RunAccepted>;

/** RFC 7240: the caller does not want to wait. */
const wantsAsync = (prefer: string | undefined): boolean => /(^|,)\s*respond-async\s*(,|;|$)/i.test(prefer ?? '');

@Controller('v1')
export class RunsController {
  constructor(
    @Inject(RunsService) private readonly runs: RunsService,
    @Inject(RunAccess) private readonly access: RunAccess,
    @Inject(RunStreams) private readonly streams: RunStreams,
    @Inject(RunQueue) private readonly queue: RunQueue,
    @Inject(Drain) private readonly drain: Drain,
  ) {}

  /** Runs code and waits for its end; whatever the program did, the answer is 200. With `Prefer: respond-async` 202 at once. */
  @Post('code/execute')
  @HttpCode(200)
  @ApiResponse({ status: 200, standardSchema: RunResult })
  @ApiResponse({ status: 202, standardSchema: RunAccepted })
  async executeCode(
    @CurrentCaller() caller: Caller,
    @Body({ schema: ExecuteRequest }) body: ExecuteRequest,
    @Headers('prefer') prefer: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunResult | Accepted> {
    const durable = wantsAsync(prefer);
    const filename = body.filename === undefined ? {} : { filename: acceptFileName(body.filename) };
    const { runId } = await this.runs.start(caller, { ...body, ...filename, durable });
    return this.#answer(caller, runId, durable, reply);
  }

  @Get('runs')
  @ApiResponse({ status: 200, standardSchema: RunList })
  async listRuns(
    @CurrentCaller() caller: Caller,
    @Query({ schema: RunQuery }) query: z.infer<typeof RunQuery>,
  ): Promise<z.infer<typeof RunList>> {
    return this.access.list(caller, query);
  }

  /** The result, or how far the run is. */
  @Get('runs/:id')
  @ApiResponse({ status: 200, standardSchema: z.union([RunResult, RunPending]) })
  async getRun(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: RunId }) id: string,
  ): Promise<RunResult | RunPending> {
    return this.runs.state(caller, id);
  }

  /** Server-sent events `stage`, `stdout`, `stderr`, `display`, `result`, from the beginning or after `Last-Event-ID`. */
  @Get('runs/:id/events')
  async followRun(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: RunId }) id: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const state = await this.runs.state(caller, id);
    if (state.state === 'finished' && (await this.queue.runLog.last(id))?.type !== 'result') {
      await sendFinished(reply, this.drain.away, state);
      return;
    }
    const { tenantId } = caller;
    await sendEntries(
      reply,
      this.drain.away,
      (signal) => this.streams.entries(id, resumeAfter(request), signal),
      async () => this.runs.present(tenantId, await this.runs.ended(tenantId, id)),
    );
  }

  @Post('runs/:id/cancel')
  @HttpCode(202)
  @ApiResponse({ status: 202, standardSchema: RunAccepted })
  async cancelRun(@CurrentCaller() caller: Caller, @Param('id', { schema: RunId }) id: string): Promise<Accepted> {
    await this.runs.cancel(caller, id);
    return { runId: id };
  }

  /** The same code on the same files, as a new run. */
  @Post('runs/:id/rerun')
  @HttpCode(200)
  @ApiResponse({ status: 200, standardSchema: RunResult })
  @ApiResponse({ status: 202, standardSchema: RunAccepted })
  async rerunRun(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: RunId }) id: string,
    @Headers('prefer') prefer: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunResult | Accepted> {
    const durable = wantsAsync(prefer);
    const { runId } = await this.runs.rerun(caller, id, durable);
    return this.#answer(caller, runId, durable, reply);
  }

  async #answer(caller: Caller, runId: string, async: boolean, reply: FastifyReply): Promise<RunResult | Accepted> {
    if (async) {
      reply.status(202).header('preference-applied', 'respond-async').header('location', `/v1/runs/${runId}`);
      return { runId };
    }
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort(new Error('the caller left')));
    return this.runs.result(caller, runId, gone.signal);
  }
}
