import { randomUUID } from 'node:crypto';
import { until } from '@moli/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunResult } from '../../services/gateway/src/runs/runs.schema.ts';
import { Stack } from '../support/stack.ts';
import { LocalGround } from './local-ground.ts';
import { execute, Oracle } from './oracle.ts';

const stack = Stack.shared();
let ground: LocalGround;
let oracle: Oracle;
beforeAll(async () => {
  ground = await LocalGround.open();
  oracle = new Oracle(ground);
});
afterAll(() => ground?.close());

const SLEEP = "import time\nprint('on', flush=True)\ntime.sleep(60)";

async function startRun(code: string, wallSeconds = 30): Promise<string> {
  const response = await ground.api.request('/v1/code/execute', {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ code, limits: { wallSeconds } }),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { runId: string }).runId;
}

const stateOf = (runId: string): Promise<RunResult> => ground.api.call('GET', `/v1/runs/${runId}`);

function settled(runId: string): Promise<RunResult> {
  return until(
    async () => {
      const result = await stateOf(runId);
      return result.state === 'finished' && result;
    },
    { what: `${runId} has a verdict`, timeoutMs: 60_000 },
  );
}

function running(runId: string): Promise<true> {
  return until(async () => (await stateOf(runId)).state !== ('queued' as string), {
    what: `${runId} runs`,
    timeoutMs: 60_000,
  });
}

test('case 61: the same idempotency key many times at once is one run', async () => {
  const idempotencyKey = randomUUID();
  const code = 'import uuid\nprint(uuid.uuid4())';
  const results = await Promise.all(Array.from({ length: 8 }, () => execute(ground.api, { code, idempotencyKey })));
  expect(new Set(results.map(({ runId, stdout }) => `${runId} ${stdout}`)).size).toBe(1);
  expect(await ground.books.countRuns(idempotencyKey)).toBe(1);
  expect(await ground.books.audited(results[0]?.runId ?? '')).toEqual(['run.start']);
  // A later try, when the run is long over, answers the same.
  expect((await execute(ground.api, { code, idempotencyKey })).runId).toBe(results[0]?.runId);
  // The key belongs to its tenant.
  expect((await execute(ground.neighbour, { code, idempotencyKey })).runId).not.toBe(results[0]?.runId);
});

test('case 61: cancelled five times at once, waiting or running, a run is over with one verdict', async () => {
  const runIds = await Promise.all(Array.from({ length: 8 }, () => startRun(SLEEP)));
  await Promise.any(runIds.map(running));
  await Promise.all(
    runIds.flatMap((runId) => Array.from({ length: 5 }, () => ground.api.call('POST', `/v1/runs/${runId}/cancel`))),
  );
  const results = await Promise.all(runIds.map(settled));
  expect(results.map(({ verdict }) => verdict)).toEqual(runIds.map(() => 'cancelled'));
  for (const { usage, limits } of results) expect(usage.wallMs).toBeLessThan(limits.wallSeconds * 1_000);
  await oracle.comesBack();
});

test('case 61: a client that leaves does not leave its run without an end', async () => {
  const idempotencyKey = randomUUID();
  const leave = new AbortController();
  const request = ground.api
    .request('/v1/code/execute', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: SLEEP, limits: { wallSeconds: 1 }, idempotencyKey }),
      signal: leave.signal,
    })
    .catch((error: Error) => error.name);
  await until(async () => (await ground.books.countRuns(idempotencyKey)) === 1, { what: 'the run is accepted' });
  leave.abort();
  expect(await request).toBe('AbortError');
  const again = await execute(ground.api, { code: SLEEP, limits: { wallSeconds: 1 }, idempotencyKey });
  expect(again).toMatchObject({ verdict: 'timeout_wall', stdout: 'on\n' });
  await oracle.comesBack();
});

test('case 62: executor killed with runs in every stage: each has one verdict, artifacts are whole or absent', async () => {
  const codes = [
    "open('big.bin', 'wb').write(bytes(40 << 20))",
    "for n in range(60): open(f'{n}.bin', 'wb').write(bytes([n]) * 200_000)",
    SLEEP,
    "while True: print('x' * 100)",
    'print(1)',
  ];
  for (const stage of [0, 2]) {
    const runIds = await Promise.all([...codes.slice(stage), ...codes].map((code) => startRun(code, 3)));
    // Killed when the first has begun, and when another one is over while the large ones are being collected.
    await (stage === 0 ? Promise.any(runIds.map(running)) : Promise.any(runIds.slice(-stage).map(settled)));
    process.kill(await stack.pidOf('executor'), 'SIGKILL');
    const killedAt = performance.now();
    const results = await Promise.all(runIds.map(settled));
    const verdicts = results.map(({ verdict }) => verdict).join(' ');
    console.info(
      `executor killed: every run settled after ${(performance.now() - killedAt).toFixed(0)} ms: ${verdicts}`,
    );
    for (const result of results) {
      expect(['ok', 'platform_error', 'output_limit', 'timeout_wall']).toContain(result.verdict);
      for (const artifact of result.artifacts) {
        expect((await ground.api.bytes(`/v1/artifacts/${artifact.id}/content`)).byteLength).toBe(artifact.bytes);
      }
    }
    await until(async () => (await stack.status()).ready, { what: 'the stack is ready again', timeoutMs: 60_000 });
    expect(await execute(ground.api, { code: 'print(6 * 7)' })).toMatchObject({ verdict: 'ok', stdout: '42\n' });
  }
  expect(await ground.books.openRuns()).toEqual([]);
  await ground.startOver();
  await oracle.comesBack();
});
