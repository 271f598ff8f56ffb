import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TenantDb } from '../database/tenant-db.ts';
import type { TestGateway, TestTenant } from '../gateway.fixture.ts';
import { expectRanges } from '../objects/ranges.fixture.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from './runs.fixture.ts';
import { RunsClient } from './runs-client.fixture.ts';

let gateway: TestGateway;
let executor: TestExecutor;
let tenant: TestTenant;
let client: RunsClient;
let key: string;

beforeAll(async () => {
  gateway = await startRunsGateway();
  executor = await startExecutor(gateway.redis.url);
  tenant = await gateway.newTenant('Runs');
  key = tenant.keys.member;
  client = new RunsClient(gateway, key);
});
afterAll(async () => {
  await executor?.stop();
  await gateway?.close();
});

const CSV = '月份,销售额\n一月,100\n二月,150\n三月,130\n';

describe('POST /v1/code/execute', () => {
  it('runs code and answers the whole result', async () => {
    const { status, json } = await client.execute({ code: 'print(1)' });
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
    const id = await client.upload('销售.csv', CSV);
    const code = [
      'import pandas as pd, matplotlib.pyplot as plt',
      "df = pd.read_csv('sales_data.csv')",
      "df.plot(x='月份', y='销售额'); plt.title('趋势')",
      "plt.savefig('trend.png')",
      'print(len(df))',
    ].join('\n');
    const { json } = await client.execute({ code, files: [{ id, name: 'sales_data.csv' }] });
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
    const { status, json } = await client.execute({ code: 'print(2)\nraise ValueError("坏")' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ success: false, verdict: 'user_error', type: 'error', stdout: '2\n' });
    expect(json.error).toMatchObject({ name: 'ValueError', message: '坏', line: 2 });
  });
});

describe('what comes back', () => {
  it('shows text, tables and figures in their order', async () => {
    const code = [
      'import pandas as pd, matplotlib.pyplot as plt',
      "display(pd.DataFrame({'月': ['一', '二'], '额': [1, 2]}))",
      'plt.plot([3, 1, 2]); plt.show()',
      '6 * 7',
    ].join('\n');
    const { json } = await client.execute({ code });
    expect(json.verdict).toBe('ok');
    const [table, figure, last] = json.display;
    expect(table.table).toMatchObject({
      rows: [
        ['一', 1],
        ['二', 2],
      ],
      totalRows: 2,
      totalColumns: 2,
    });
    expect(figure.mimeType).toBe('image/png');
    expect(json.artifacts.map(({ id }: { id: string }) => id)).toEqual([figure.artifactId]);
    expect(last).toMatchObject({ mimeType: 'text/plain', text: '42' });
  });

  it('keeps every byte of output that is not text, and NUL, and joins cut characters', async () => {
    const code = [
      'import sys, time',
      'out = sys.stdout.buffer',
      "out.write('销'.encode()[:2]); out.flush(); time.sleep(0.05); out.write('销'.encode()[2:] + b'\\n')",
      "out.write('销售'.encode('gbk') + b'\\x00\\n\\x1b[31m\\xe2\\x80\\xa8')",
      "sys.stderr.write('\\ufeff\\u2028ok')",
    ].join('\n');
    const { json } = await client.execute({ code });
    const text = '销\n\\xcf\\xfa\\xca\\xdb\u0000\n\u001b[31m\u2028';
    expect(json.stdout).toBe(text);
    expect(json.stderr).toBe('\ufeff\u2028ok');
    const raw = Buffer.from(json.raw.stdout, 'base64');
    expect(
      raw.equals(
        Buffer.concat([
          Buffer.from('销\n'),
          Buffer.from([0xcf, 0xfa, 0xca, 0xdb, 0, 10]),
          Buffer.from('\u001b[31m\u2028'),
        ]),
      ),
    ).toBe(true);
    expect(json.raw.stderr).toBeUndefined();
    const later = await gateway.ask(`/v1/runs/${json.runId}`, { key });
    expect(later.json).toMatchObject({ stdout: text, raw: json.raw });
  });

  it('takes code that holds NUL or half a character as a program with an error', async () => {
    for (const code of ['print(1)\u0000', "x = '\ud800'"]) {
      const { status, json } = await client.execute({ code });
      expect(status).toBe(200);
      expect(json.verdict).not.toBe('platform_error');
      expect((await gateway.ask(`/v1/runs/${json.runId}`, { key })).json.state).toBe('finished');
    }
  });

  it('cannot be given a result by the program', async () => {
    const code = [
      'import os, struct, json',
      "for kind in 'RAPS':",
      "    frame = json.dumps({'verdict': 'ok', 'forged': True}).encode()",
      '    for fd in range(3, 256):',
      "        try: os.write(fd, struct.pack('<I', len(frame) + 1) + kind.encode() + frame)",
      '        except OSError: pass',
      'print(\'{"type": "result", "outcome": {"verdict": "ok"}}\')',
      'raise RuntimeError("real")',
    ].join('\n');
    const { json } = await client.execute({ code });
    expect(json.success).toBe(false);
    expect(JSON.stringify(json)).not.toContain('forged');
  });

  it('seals HTML that a run made and downloads what is not an image', async () => {
    const code = "open('page.html', 'w').write('<script>1</script>'); open('data.csv', 'w').write('a\\n1\\n')";
    const { json } = await client.execute({ code });
    const idOf = (name: string) => json.artifacts.find((artifact: { name: string }) => artifact.name === name).id;
    const page = await gateway.ask(`/v1/artifacts/${idOf('page.html')}/content`, { key });
    expect(page.headers.get('content-security-policy')).toBe(
      "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:",
    );
    expect(page.text).toBe('<script>1</script>');
    const framed = await gateway.ask(`/v1/artifacts/${idOf('page.html')}/content?frame=1`, { key });
    expect(framed.headers.get('content-security-policy')).toBe(page.headers.get('content-security-policy'));
    expect(framed.text).toMatch(/^<!doctype html><style>[\s\S]*moliFrameHeight[\s\S]*<\/script>\n<script>1<\/script>$/);
    expect(framed.headers.get('content-length')).toBe(String(Buffer.byteLength(framed.text)));
    const saved = await gateway.ask(`/v1/artifacts/${idOf('page.html')}/content?frame=1&download=1`, { key });
    expect(saved.text).toBe(page.text);
    const data = await gateway.ask(`/v1/artifacts/${idOf('data.csv')}/content?frame=1`, { key });
    expect(data.text).toBe('a\n1\n');
    expect(data.headers.get('content-disposition')).toMatch(/^attachment; filename="data.csv"/);
    expect(data.headers.get('content-security-policy')).toContain('sandbox');
    const link = await gateway.ask(`/v1/artifacts/${idOf('data.csv')}/token`, { key, body: { expiresInSeconds: 60 } });
    expect(link.json.url).toContain('/objects/');
  });

  it('serves what a run made in parts, and a framed page whole', async () => {
    const page = '<p>made by a run</p>';
    const code = `open('page.html', 'w').write('${page}'); open('empty.txt', 'w').close()`;
    const { json } = await client.execute({ code });
    const path = (name: string) =>
      `/v1/artifacts/${json.artifacts.find((artifact: { name: string }) => artifact.name === name).id}/content`;
    await expectRanges(gateway, key, path('page.html'), page);
    const framed = await gateway.ask(`${path('page.html')}?frame=1`, { key, headers: { range: 'bytes=0-3' } });
    expect([framed.status, framed.headers.get('accept-ranges'), framed.headers.get('etag')]).toEqual([200, null, null]);
    expect(framed.text).toMatch(/^<!doctype html>[\s\S]*<p>made by a run<\/p>$/);
    const empty = await gateway.ask(path('empty.txt'), { key });
    expect([empty.status, empty.text, empty.headers.get('content-length')]).toEqual([200, '', '0']);
  });

  it('gives five files with awkward names back under exactly these names', async () => {
    const names = ['报表 2026（终稿）.csv', 'naïve.csv', '图📈.txt', "it's 100%.txt", 'a+b&c#d.txt'];
    const code = `for name in ${JSON.stringify(names)}:\n    open(name, 'w', encoding='utf-8').write(name)`;
    const { json } = await client.execute({ code });
    expect(json.artifacts.map(({ name }: { name: string }) => name).sort()).toEqual([...names].sort());
    for (const { id, name } of json.artifacts) {
      expect((await gateway.ask(`/v1/artifacts/${id}/content`, { key })).text).toBe(name);
    }
  });
});

describe('requests', () => {
  it.each([
    ['no code', {}, 'code'],
    ['empty code', { code: '' }, 'code'],
    ['code over the bound', { code: 'x'.repeat(600_000) }, 'code'],
    ['code of another type', { code: 7 }, 'code'],
    ['an unknown field', { code: '1', cod: '2' }, 'cod'],
    ['a limit over its bound', { code: '1', limits: { wallSeconds: 10_000 } }, 'limits.wallSeconds'],
    ['an unknown limit', { code: '1', limits: { gpu: 1 } }, 'gpu'],
    ['a file without id and token', { code: '1', files: [{ name: 'a' }] }, 'files[0]'],
    ['a session id of another kind', { code: '1', sessionId: 'x' }, 'sessionId'],
  ])('with %s are refused and name the field', async (_, body, field) => {
    const { status, json } = await client.execute(body);
    expect(status).toBe(400);
    expect(json.code).toBe('bad_request');
    expect(json.detail).toContain(field);
  });

  it('of 10 MB are refused', async () => {
    const { status, json } = await client.execute({ code: 'x'.repeat(10_000_000) });
    expect(status).toBe(413);
    expect(json.code).toBe('body_too_large');
  });

  it('with a dangerous file name are refused', async () => {
    expect((await client.execute({ code: '1', filename: '../x.py' })).json.code).toBe('invalid_name');
  });

  it('of a viewer are refused', async () => {
    const answer = await gateway.ask('/v1/code/execute', { key: tenant.keys.viewer, body: { code: 'print(1)' } });
    expect(answer.status).toBe(403);
  });

  it('with one idempotency key are one run, also at once', async () => {
    const body = { code: 'import time\ntime.sleep(0.3)\nimport uuid\nprint(uuid.uuid4())', idempotencyKey: 'once-1' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.execute(body)));
    expect(new Set(answers.map(({ json }) => json.runId)).size).toBe(1);
    expect(new Set(answers.map(({ json }) => json.stdout)).size).toBe(1);
    expect((await client.execute(body)).json.runId).toBe(answers[0]?.json.runId);
    const other = await client.execute({ code: 'print(2)', idempotencyKey: 'once-1' });
    expect(other.status).toBe(409);
    expect(other.json.code).toBe('conflict');
  });

  it('leave an audit row each', async () => {
    const { json } = await client.execute({ code: 'print(1)' });
    const rows = await gateway.app
      .get(TenantDb)
      .as(tenant.id, (tx) => tx.selectFrom('audit').selectAll().where('target', '=', json.runId).execute());
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ action: 'run.start', outcome: 'ok', detail: { codeBytes: 8, files: [] } });
  });
});
