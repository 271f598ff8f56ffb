import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../gateway.fixture.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from './runs.fixture.ts';

let gateway: TestGateway;
let executor: TestExecutor;
let key: string;

beforeAll(async () => {
  gateway = await startRunsGateway();
  executor = await startExecutor(gateway.redis.url);
  key = (await gateway.newTenant('Runs')).keys.member;
});
afterAll(async () => {
  await executor?.stop();
  await gateway?.close();
});

const execute = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  gateway.ask('/v1/code/execute', { key, body, headers });

async function upload(name: string, content: string | Buffer, sessionId?: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([Buffer.from(content)]), name);
  if (sessionId) form.append('sessionId', sessionId);
  const answer = await fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

const CSV = '月份,销售额\n一月,100\n二月,150\n三月,130\n';

describe('POST /v1/code/execute', () => {
  it('runs code and answers the whole result', async () => {
    const { status, json } = await execute({ code: 'print(1)' });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      success: true,
      verdict: 'ok',
      type: 'ok',
      exitCode: 0,
      signal: null,
      stdout: '1\n',
      stderr: '',
      truncated: { stdout: false, stderr: false },
      display: [],
      artifacts: [],
      skipped: [],
      error: null,
      limits: {
        wallSeconds: 30,
        cpuSeconds: 30,
        memoryBytes: 536_870_912,
        pids: 64,
        diskBytes: 104_857_600,
        outputBytes: 1_048_576,
      },
      runner: 'local',
    });
    expect(json.runId).toMatch(/^run_[0-9a-f]{32}$/);
    expect(json.sandbox).toMatch(/seccomp/);
    for (const stage of ['queueMs', 'claimMs', 'stageMs', 'runMs', 'collectMs']) {
      expect(json.timings[stage]).toBeGreaterThanOrEqual(0);
    }
  });

  it('makes a chart from an uploaded CSV; links and content give the same bytes', async () => {
    const id = await upload('销售.csv', CSV);
    const code = [
      'import pandas as pd, matplotlib.pyplot as plt',
      "df = pd.read_csv('sales_data.csv')",
      "df.plot(x='月份', y='销售额'); plt.title('趋势')",
      "plt.savefig('trend.png')",
      'print(len(df))',
    ].join('\n');
    const { json } = await execute({ code, files: [{ id, name: 'sales_data.csv' }] });
    expect(json).toMatchObject({ verdict: 'ok', stdout: '3\n' });
    expect(json.artifacts).toHaveLength(1);
    const [chart] = json.artifacts;
    expect(chart).toMatchObject({ name: 'trend.png', mimeType: 'image/png' });
    const inside = Buffer.from(chart.base64, 'base64');
    expect(inside.byteLength).toBe(chart.bytes);
    expect(createHash('sha256').update(inside).digest('hex')).toBe(chart.sha256);
    const content = await fetch(`${gateway.url}/v1/artifacts/${chart.id}/content`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(content.headers.get('content-type')).toBe('image/png');
    expect(content.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Buffer.from(await content.arrayBuffer()).equals(inside)).toBe(true);
    const linked = await fetch(new URL(new URL(chart.url).pathname + new URL(chart.url).search, gateway.url));
    expect(Buffer.from(await linked.arrayBuffer()).equals(inside)).toBe(true);
  });

  it('answers 200 with a typed verdict when the program fails', async () => {
    const { status, json } = await execute({ code: 'print(2)\nraise ValueError("坏")' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ success: false, verdict: 'user_error', type: 'error', stdout: '2\n' });
    expect(json.error).toMatchObject({ name: 'ValueError', message: '坏', line: 2 });
  });
});
