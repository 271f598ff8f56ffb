import { randomBytes } from 'node:crypto';
import { DEFAULT_LIMITS, openRunsQueue, RunLog } from '@moli/queue';
import { freePort, SANDBOX_DIR, sandboxPython, startRedis, type TestRedis, testFolder, until } from '@moli/testing';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { AppModule } from '../app.module.ts';
import { readExecutorConfig } from '../config.ts';

/** An executor with a Redis of its own, which the test takes away. */
let server: TestRedis;
let redis: Redis;
let app: INestApplication;

afterEach(async () => {
  redis?.disconnect();
  await server?.stop();
});

async function start(shutdownSeconds: number): Promise<void> {
  server = await startRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
  redis.on('error', () => {});
  const port = await freePort();
  const config = readExecutorConfig({
    MOLI_EXECUTOR_PORT: String(port),
    MOLI_REDIS_URL: server.url,
    MOLI_SANDBOX_PYTHON: await sandboxPython(),
    MOLI_SANDBOX_DIR: SANDBOX_DIR,
    MOLI_SANDBOX_STATE_DIR: testFolder('executor'),
    MOLI_SANDBOX_SLOTS: '1',
    MOLI_SHUTDOWN_SECONDS: String(shutdownSeconds),
  });
  app = await NestFactory.create(AppModule.with(config), new FastifyAdapter(), { logger: false });
  await app.listen(port, '127.0.0.1');
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  await until(ready, { what: 'ready', timeoutMs: 60_000 });
}

it('ends long before its drain time when Redis went first and nothing runs', async () => {
  await start(600);
  await server.stop();
  // Without a bound this waits for Redis, and the test fails by its own time.
  await expect(app.close()).resolves.toBeUndefined();
});

it('ends after its drain time when Redis went under a run', async () => {
  await start(1);
  const queue = openRunsQueue(redis, { traces: false });
  const runId = `run_${randomBytes(16).toString('hex')}`;
  const job = {
    runId,
    tenantId: `ten_${'0'.repeat(32)}`,
    code: "print('on', flush=True)\nimport time\ntime.sleep(100)",
    filename: 'main.py',
    limits: { ...DEFAULT_LIMITS, wallSeconds: 120 },
    files: [],
    artifacts: { maxBytes: 1_000_000, maxCount: 10 },
    acceptedAt: Date.now(),
    startBefore: Date.now() + 30_000,
  };
  await queue.add('run', job, { jobId: runId, priority: 1 });
  const runLog = new RunLog(redis);
  await until(async () => JSON.stringify(await runLog.last(runId))?.includes('on\\n'), {
    what: 'the run is on',
    timeoutMs: 30_000,
  });
  await server.stop();
  await expect(app.close()).resolves.toBeUndefined();
});
