import { randomBytes } from 'node:crypto';
import { DEFAULT_LIMITS, openRunsQueue, type RunJob, RunLog, type RunOutcome } from '@moli/queue';
import { freePort, SANDBOX_DIR, sandboxPython, startRedis, type TestRedis, testFolder, until } from '@moli/testing';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppModule } from '../app.module.ts';
import { readExecutorConfig } from '../config.ts';

const exporter = new InMemorySpanExporter();
let server: TestRedis;
let redis: Redis;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  server = await startRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
  const config = readExecutorConfig({
    MOLI_EXECUTOR_PORT: String(await freePort()),
    MOLI_REDIS_URL: server.url,
    MOLI_SANDBOX_PYTHON: await sandboxPython(),
    MOLI_SANDBOX_DIR: SANDBOX_DIR,
    MOLI_SANDBOX_STATE_DIR: testFolder('executor'),
    MOLI_SANDBOX_SLOTS: '2',
    MOLI_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  });
  app = await NestFactory.create(AppModule.with(config), new FastifyAdapter(), { logger: false });
  await app.listen(config.executorPort, '127.0.0.1');
  url = `http://127.0.0.1:${config.executorPort}`;
  await until(async () => (await fetch(`${url}/readyz`)).status === 200, { what: 'ready', timeoutMs: 60_000 });
});
afterAll(async () => {
  await app?.close();
  redis?.disconnect();
  await server?.stop();
  trace.disable();
  context.disable();
  propagation.disable();
});

function jobOf(code: string, more: Partial<RunJob> = {}): RunJob {
  return {
    runId: `run_${randomBytes(16).toString('hex')}`,
    tenantId: `ten_${'0'.repeat(32)}`,
    code,
    filename: 'main.py',
    limits: DEFAULT_LIMITS,
    files: [],
    artifacts: { maxBytes: 1_000_000, maxCount: 10 },
    acceptedAt: Date.now(),
    startBefore: Date.now() + 30_000,
    ...more,
  };
}

async function outcomeOf(runId: string): Promise<RunOutcome> {
  const runLog = new RunLog(redis);
  return until(
    async () => {
      const last = await runLog.last(runId);
      return last?.type === 'result' && last.outcome;
    },
    { what: 'the result', timeoutMs: 30_000 },
  );
}

describe('the runs processor', () => {
  it('does a run in the trace of whoever queued it, a span a stage', async () => {
    const queue = openRunsQueue(redis, { traces: true });
    const job = jobOf('print(1)');
    const turn = await trace.getTracer('test').startActiveSpan('turn', async (span) => {
      await queue.add('run', job, { jobId: job.runId, priority: 1 });
      span.end();
      return span.spanContext();
    });
    expect(await outcomeOf(job.runId)).toMatchObject({ verdict: 'ok', stdout: '1\n', runner: 'local' });
    const run = await until(() => exporter.getFinishedSpans().find(({ name }) => name === 'moli.run'), {
      what: 'the span of the run',
      timeoutMs: 20_000,
    });
    expect(run.spanContext().traceId).toBe(turn.traceId);
    expect(run.attributes).toEqual({ 'moli.run': job.runId, 'moli.verdict': 'ok' });
    const stages = exporter
      .getFinishedSpans()
      .filter((span: ReadableSpan) => span.parentSpanContext?.spanId === run.spanContext().spanId);
    expect(stages.map(({ name }) => name)).toEqual([
      'moli.run.claim',
      'moli.run.stage',
      'moli.run.execute',
      'moli.run.collect',
    ]);
    await queue.close();
  });

  it('refuses what is not a job and goes on', async () => {
    const queue = openRunsQueue(redis, { traces: false });
    await queue.add('run', { runId: 'x' } as unknown as RunJob, { jobId: 'malformed-1', priority: 1 });
    const job = jobOf('print(2)');
    await queue.add('run', job, { jobId: job.runId, priority: 1 });
    expect((await outcomeOf(job.runId)).stdout).toBe('2\n');
    expect(await (await queue.getJob('malformed-1'))?.getState()).toBe('failed');
    await queue.close();
  });

  it('does not start what is too old or was cancelled while it waited', async () => {
    const queue = openRunsQueue(redis, { traces: false });
    const old = jobOf('print(3)', { startBefore: Date.now() - 1 });
    const cancelled = jobOf('print(3)');
    await new RunLog(redis).requestCancel(cancelled.runId);
    for (const job of [old, cancelled]) await queue.add('run', job, { jobId: job.runId, priority: 1 });
    expect(await outcomeOf(old.runId)).toMatchObject({
      verdict: 'queue_rejected',
      stdout: '',
      error: { name: 'expired' },
    });
    expect(await outcomeOf(cancelled.runId)).toMatchObject({ verdict: 'cancelled', stdout: '', error: null });
    await queue.close();
  });

  it('says how it is: health, its own report and series', async () => {
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
      redis: { ready: true },
      sandbox: { ready: true, runner: 'local', slots: 2 },
    });
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/^moli_executor_runs_total\{verdict="ok"\} [1-9]/m);
    expect(text).toMatch(/^moli_executor_run_stage_seconds_count\{stage="queue"\} [1-9]/m);
    const reported = async () => [...(await new RunLog(redis).executors()).values()][0];
    // The first report was made before the sandbox was ready; the next one follows by itself.
    await expect.poll(async () => (await reported())?.ready, { timeout: 10_000 }).toBe(true);
    const report = await reported();
    expect(report).toMatchObject({ runner: 'local', slots: 2 });
    expect(report?.sandbox).toMatch(/seccomp/);
    expect(report?.ageMs).toBeLessThan(10_000);
  });
});
