import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type pg from 'pg';
import { Probe } from '../identity/public.ts';
import { Metrics } from '../metrics.ts';
import { APP_POOL } from '../tokens.ts';
import { Live, Ready, Version } from './health.schema.ts';
import { HealthService } from './health.service.ts';

/** Probes, metrics and the version: no credentials, any Host. */
@Controller()
export class HealthController {
  constructor(
    @Inject(HealthService) private readonly health: HealthService,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(APP_POOL) private readonly pool: pg.Pool,
  ) {}

  @Get('livez')
  @Probe()
  @ApiOperation({ summary: 'Whether the process answers', tags: ['operations'] })
  @ApiResponse({ status: 200, standardSchema: Live })
  livez() {
    return { status: 'ok' };
  }

  @Get('readyz')
  @Probe()
  @ApiOperation({ summary: 'Whether every dependency can be used, each by name', tags: ['operations'] })
  @ApiResponse({ status: 200, standardSchema: Ready })
  @ApiResponse({ status: 503, standardSchema: Ready })
  async readyz(@Res({ passthrough: true }) reply: FastifyReply) {
    const ready = await this.health.ready(this.pool);
    if (ready.status !== 'ok') reply.status(503).header('retry-after', '2');
    return ready;
  }

  @Get('metrics')
  @Probe()
  @ApiOperation({ summary: 'Series in the text format of Prometheus', tags: ['operations'] })
  async scrape(@Res({ passthrough: true }) reply: FastifyReply) {
    reply.header('content-type', this.metrics.registry.contentType);
    return this.metrics.registry.metrics();
  }

  @Get('version')
  @Probe()
  @ApiOperation({ summary: 'What runs here', tags: ['operations'] })
  @ApiResponse({ status: 200, standardSchema: Version })
  version() {
    return this.health.version();
  }
}
