import { createHash } from 'node:crypto';
import { until } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TenantDb } from '../database/tenant-db.ts';
import type { TestGateway, TestTenant } from '../gateway.fixture.ts';
import { RunQueue } from './run.queue.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from './runs.fixture.ts';

let gateway: TestGateway;
let executor: TestExecutor;
let tenant: TestTenant;
let key: string;

beforeAll(async () => {
  gateway = await startRunsGateway();
  executor = await startExecutor(gateway.redis.url);
  tenant = await gateway.newTenant('Runs');
  key = tenant.keys.member;
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

describe('what comes back', () => {
  it('shows text, tables and figures in their order', async () => {
    const code = [
      'import pandas as pd, matplotlib.pyplot as plt',
      "display(pd.DataFrame({'月': ['一', '二'], '额': [1, 2]}))",
      'plt.plot([3, 1, 2]); plt.show()',
      '6 * 7',
    ].join('\n');
    const { json } = await execute({ code });
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
    const { json } = await execute({ code });
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
      const { status, json } = await execute({ code });
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
    const { json } = await execute({ code });
    expect(json.success).toBe(false);
    expect(JSON.stringify(json)).not.toContain('forged');
  });

  it('seals HTML that a run made and downloads what is not an image', async () => {
    const code = "open('page.html', 'w').write('<script>1</script>'); open('data.csv', 'w').write('a\\n1\\n')";
    const { json } = await execute({ code });
    const idOf = (name: string) => json.artifacts.find((artifact: { name: string }) => artifact.name === name).id;
    const page = await gateway.ask(`/v1/artifacts/${idOf('page.html')}/content`, { key });
    expect(page.headers.get('content-security-policy')).toBe(
      "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:",
    );
    const data = await gateway.ask(`/v1/artifacts/${idOf('data.csv')}/content`, { key });
    expect(data.text).toBe('a\n1\n');
    expect(data.headers.get('content-disposition')).toMatch(/^attachment; filename="data.csv"/);
    expect(data.headers.get('content-security-policy')).toContain('sandbox');
    const link = await gateway.ask(`/v1/artifacts/${idOf('data.csv')}/token`, { key, body: { expiresInSeconds: 60 } });
    expect(link.json.url).toContain('/objects/');
  });

  it('gives five files with awkward names back under exactly these names', async () => {
    const names = ['报表 2026（终稿）.csv', 'naïve.csv', '图📈.txt', "it's 100%.txt", 'a+b&c#d.txt'];
    const code = `for name in ${JSON.stringify(names)}:\n    open(name, 'w', encoding='utf-8').write(name)`;
    const { json } = await execute({ code });
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
    const { status, json } = await execute(body);
    expect(status).toBe(400);
    expect(json.code).toBe('bad_request');
    expect(json.detail).toContain(field);
  });

  it('of 10 MB are refused', async () => {
    const { status, json } = await execute({ code: 'x'.repeat(10_000_000) });
    expect(status).toBe(413);
    expect(json.code).toBe('body_too_large');
  });

  it('with a dangerous file name are refused', async () => {
    expect((await execute({ code: '1', filename: '../x.py' })).json.code).toBe('invalid_name');
  });

  it('of a viewer are refused', async () => {
    const answer = await gateway.ask('/v1/code/execute', { key: tenant.keys.viewer, body: { code: 'print(1)' } });
    expect(answer.status).toBe(403);
  });

  it('with one idempotency key are one run, also at once', async () => {
    const body = { code: 'import time\ntime.sleep(0.3)\nimport uuid\nprint(uuid.uuid4())', idempotencyKey: 'once-1' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => execute(body)));
    expect(new Set(answers.map(({ json }) => json.runId)).size).toBe(1);
    expect(new Set(answers.map(({ json }) => json.stdout)).size).toBe(1);
    expect((await execute(body)).json.runId).toBe(answers[0]?.json.runId);
    const other = await execute({ code: 'print(2)', idempotencyKey: 'once-1' });
    expect(other.status).toBe(409);
    expect(other.json.code).toBe('conflict');
  });

  it('leave an audit row each', async () => {
    const { json } = await execute({ code: 'print(1)' });
    const rows = await gateway.app
      .get(TenantDb)
      .as(tenant.id, (tx) => tx.selectFrom('audit').selectAll().where('target', '=', json.runId).execute());
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ action: 'run.start', outcome: 'ok', detail: { codeBytes: 8, files: [] } });
  });
});

interface SentEvent {
  id?: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: data of any event
  data: any;
}

/** Reads server-sent events until `enough` says so or the stream ends. */
async function readEvents(
  runId: string,
  options: { after?: string; enough?: (events: SentEvent[]) => boolean } = {},
): Promise<SentEvent[]> {
  const stop = new AbortController();
  const answer = await fetch(`${gateway.url}/v1/runs/${runId}/events`, {
    headers: { authorization: `Bearer ${key}`, ...(options.after ? { 'last-event-id': options.after } : {}) },
    signal: stop.signal,
  });
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events: SentEvent[] = [];
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      if (fields.event) events.push({ id: fields.id, event: fields.event, data: JSON.parse(fields.data!) });
    }
    if (options.enough?.(events)) {
      stop.abort();
      break;
    }
  }
  return events;
}

const start = async (body: Record<string, unknown>): Promise<string> => {
  const { status, json } = await execute(body, { prefer: 'respond-async' });
  expect(status).toBe(202);
  return json.runId;
};

const settled = (runId: string) =>
  until(
    async () => {
      const { json } = await gateway.ask(`/v1/runs/${runId}`, { key });
      return json.state === 'finished' && json;
    },
    { what: 'the run is finished', timeoutMs: 20_000 },
  );

describe('events of a run', () => {
  it('come while it runs, resume after an id, and replay when it is over', async () => {
    const code = ['import time', "print('a', flush=True)", 'time.sleep(0.4)', "print('b', flush=True)", "'end'"].join(
      '\n',
    );
    const runId = await start({ code });
    const first = await readEvents(runId, { enough: (events) => events.some(({ event }) => event === 'stdout') });
    const seen = first.find(({ event }) => event === 'stdout')!;
    expect(seen.data.text).toBe('a\n');
    const rest = await readEvents(runId, { after: seen.id! });
    expect(rest.map(({ event }) => event)).toEqual(['stdout', 'display', 'result']);
    expect(rest[0]?.data.text).toBe('b\n');
    expect(rest.at(-1)?.data).toMatchObject({ runId, verdict: 'ok', stdout: 'a\nb\n' });
    const whole = await readEvents(runId);
    const text = whole.filter(({ event }) => event === 'stdout').map(({ data }) => data.text);
    expect(text.join('')).toBe('a\nb\n');
    expect(whole.at(-1)?.event).toBe('result');
    await gateway.app.get(RunQueue).runLog.forget(runId);
    const stored = await readEvents(runId);
    expect(stored.map(({ event }) => event)).toEqual(['stdout', 'display', 'result']);
  });

  it('show a figure whose content can be opened at once', async () => {
    const code = 'import matplotlib.pyplot as plt, time\nplt.plot([1, 2]); plt.show()\ntime.sleep(5)';
    const runId = await start({ code });
    const events = await readEvents(runId, { enough: (all) => all.some(({ event }) => event === 'display') });
    const { artifact } = events.find(({ event }) => event === 'display')!.data;
    const content = await gateway.ask(`/v1/artifacts/${artifact.id}/content`, { key });
    expect(content.status).toBe(200);
    expect(content.headers.get('content-length')).toBe(String(artifact.bytes));
    await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' });
    expect((await settled(runId)).artifacts).toHaveLength(1);
  });
});

describe('cancel and rerun', () => {
  it('ends a running program and keeps what it printed', async () => {
    const runId = await start({ code: "import time\nprint('begun', flush=True)\ntime.sleep(60)" });
    await readEvents(runId, { enough: (events) => events.some(({ event }) => event === 'stdout') });
    expect((await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' })).status).toBe(202);
    expect(await settled(runId)).toMatchObject({
      verdict: 'cancelled',
      type: 'cancelled',
      stdout: 'begun\n',
      success: false,
    });
    expect((await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' })).status).toBe(202);
    expect((await execute({ code: 'print(1)' })).json.verdict).toBe('ok');
  });

  it('keeps a waiting run from starting', async () => {
    const busy = await Promise.all([1, 2].map(() => start({ code: 'import time\ntime.sleep(60)' })));
    const waiting = await start({ code: "print('never')" });
    await gateway.ask(`/v1/runs/${waiting}/cancel`, { key, method: 'POST' });
    expect(await settled(waiting)).toMatchObject({ verdict: 'cancelled', stdout: '' });
    for (const runId of busy) await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' });
    for (const runId of busy) expect((await settled(runId)).verdict).toBe('cancelled');
  });

  it('runs the same code on the same files again', async () => {
    const id = await upload('a.csv', CSV);
    const { json } = await execute({ code: "print(len(open('b.csv').read()))", files: [{ id, name: 'b.csv' }] });
    const again = await gateway.ask(`/v1/runs/${json.runId}/rerun`, { key, method: 'POST' });
    expect(again.status).toBe(200);
    expect(again.json).toMatchObject({ verdict: 'ok', stdout: json.stdout });
    expect(again.json.runId).not.toBe(json.runId);
    const list = await gateway.ask('/v1/runs?limit=2', { key });
    expect(list.json.items[0]).toMatchObject({
      runId: again.json.runId,
      rerunOf: json.runId,
      verdict: 'ok',
      type: 'ok',
    });
    expect(list.json.nextCursor).toBeTruthy();
    const next = await gateway.ask(`/v1/runs?limit=2&cursor=${list.json.nextCursor}`, { key });
    expect(next.json.items.map(({ runId }: { runId: string }) => runId)).not.toContain(json.runId);
  });
});

describe('runs of a session', () => {
  const newSession = async (): Promise<string> => (await gateway.ask('/v1/sessions', { key, body: {} })).json.id;

  it('find its uploads and the files of earlier runs; the newest of a name counts and the upload stays', async () => {
    const sessionId = await newSession();
    const fileId = await upload('sales.csv', CSV, sessionId);
    const code = [
      'import pandas as pd',
      "df = pd.read_csv('sales.csv')",
      "df['税额'] = df['销售额'] * 0.13",
      "df.to_csv('sales.csv', index=False)",
      "open('note.txt', 'w').write('n')",
      'print(len(df.columns))',
    ].join('\n');
    const first = await execute({ code, sessionId });
    expect(first.json).toMatchObject({ verdict: 'ok', stdout: '3\n' });
    expect(first.json.artifacts.map(({ name }: { name: string }) => name).sort()).toEqual(['note.txt', 'sales.csv']);
    expect((await gateway.ask(`/v1/files/${fileId}/content`, { key })).text).toBe(CSV);
    const second = await execute({ code: `${code}\nprint(open('note.txt').read())`, sessionId });
    expect(second.json).toMatchObject({ verdict: 'ok', stdout: '3\nn\n' });
    const header = await execute({ code: "print(open('sales.csv').readline().strip())", sessionId });
    expect(header.json.stdout).toBe('月份,销售额,税额\n');
    const elsewhere = await execute({ code: "import os\nprint(os.listdir('.'))" });
    expect(elsewhere.json.stdout).not.toContain('note.txt');
  });

  it('end with it, and their files go with it', async () => {
    const sessionId = await newSession();
    const made = await execute({ code: "open('made.txt', 'w').write('x')", sessionId });
    const [artifact] = made.json.artifacts;
    const link = new URL(artifact.url);
    const fetchLink = () => fetch(new URL(link.pathname + link.search, gateway.url));
    expect((await fetchLink()).status).toBe(200);
    const list = await gateway.ask(`/v1/sessions/${sessionId}/files`, { key });
    expect(list.json.artifacts).toMatchObject([{ id: artifact.id, name: 'made.txt', runId: made.json.runId }]);
    const running = await start({ code: "print('on', flush=True)\nimport time\ntime.sleep(60)", sessionId });
    await readEvents(running, { enough: (events) => events.some(({ event }) => event === 'stdout') });
    expect((await gateway.ask(`/v1/sessions/${sessionId}`, { key, method: 'DELETE' })).status).toBe(204);
    expect((await gateway.ask(`/v1/runs/${running}`, { key })).status).toBe(404);
    expect((await gateway.ask(`/v1/artifacts/${artifact.id}/content`, { key })).status).toBe(404);
    expect((await fetchLink()).status).not.toBe(200);
    // Its sandbox is free again.
    expect((await execute({ code: 'print(1)' })).json.stdout).toBe('1\n');
  });

  it('do not find figures that were only shown', async () => {
    const sessionId = await newSession();
    await execute({ code: 'import matplotlib.pyplot as plt\nplt.plot([1]); plt.show()', sessionId });
    expect((await execute({ code: "import os\nprint(os.listdir('.'))", sessionId })).json.stdout).toBe('[]\n');
  });

  it('are hidden from another tenant, like everything of theirs', async () => {
    const other = (await gateway.newTenant('Other')).keys.owner;
    const { json } = await execute({ code: "open('x.txt', 'w').write('x')" });
    const artifact = json.artifacts[0].id;
    const absent = json.runId.replace(/.$/, json.runId.endsWith('0') ? '1' : '0');
    for (const [method, path] of [
      ['GET', '/v1/runs/ID'],
      ['GET', '/v1/runs/ID/events'],
      ['POST', '/v1/runs/ID/cancel'],
      ['POST', '/v1/runs/ID/rerun'],
    ] as const) {
      const foreign = await gateway.ask(path.replace('ID', json.runId), { key: other, method });
      const missing = await gateway.ask(path.replace('ID', absent), { key: other, method });
      expect(foreign.status).toBe(404);
      expect({ ...foreign.json, traceId: '' }).toEqual({ ...missing.json, traceId: '' });
    }
    expect((await gateway.ask(`/v1/artifacts/${artifact}/content`, { key: other })).status).toBe(404);
    const session = await newSession();
    expect(
      (await gateway.ask('/v1/code/execute', { key: other, body: { code: '1', sessionId: session } })).status,
    ).toBe(404);
    expect((await gateway.ask(`/v1/runs?sessionId=${session}`, { key: other })).status).toBe(404);
  });
});
