import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../gateway.fixture.ts';
import { RunQueue } from './run.queue.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from './runs.fixture.ts';
import { RunsClient } from './runs-client.fixture.ts';

let gateway: TestGateway;
let executor: TestExecutor;
let client: RunsClient;
let key: string;

beforeAll(async () => {
  gateway = await startRunsGateway();
  executor = await startExecutor(gateway.redis.url);
  ({ member: key } = (await gateway.newTenant('Runs')).keys);
  client = new RunsClient(gateway, key);
});
afterAll(async () => {
  await executor?.stop();
  await gateway?.close();
});

const CSV = '月份,销售额\n一月,100\n二月,150\n三月,130\n';

describe('events of a run', () => {
  it('come while it runs, resume after an id, and replay when it is over', async () => {
    const code = ['import time', "print('a', flush=True)", 'time.sleep(0.4)', "print('b', flush=True)", "'end'"].join(
      '\n',
    );
    const runId = await client.start({ code });
    const first = await client.eventsUntil(runId, 'stdout');
    const seen = first.find(({ event }) => event === 'stdout')!;
    expect(seen.data.text).toBe('a\n');
    const rest = await client.eventsUntil(runId, undefined, seen.id);
    expect(rest.map(({ event }) => event)).toEqual(['stdout', 'display', 'result']);
    expect(rest[0]?.data.text).toBe('b\n');
    expect(rest.at(-1)?.data).toMatchObject({ runId, verdict: 'ok', stdout: 'a\nb\n' });
    const whole = await client.eventsUntil(runId);
    const text = whole.filter(({ event }) => event === 'stdout').map(({ data }) => data.text);
    expect(text.join('')).toBe('a\nb\n');
    expect(whole.at(-1)?.event).toBe('result');
    await gateway.app.get(RunQueue).runLog.forget(runId);
    const stored = await client.eventsUntil(runId);
    expect(stored.map(({ event }) => event)).toEqual(['stdout', 'display', 'result']);
  });

  it('show a figure whose content can be opened at once', async () => {
    const code = 'import matplotlib.pyplot as plt, time\nplt.plot([1, 2]); plt.show()\ntime.sleep(5)';
    const runId = await client.start({ code });
    const events = await client.eventsUntil(runId, 'display');
    const { artifact } = events.find(({ event }) => event === 'display')!.data;
    const content = await gateway.ask(`/v1/artifacts/${artifact.id}/content`, { key });
    expect(content.status).toBe(200);
    expect(content.headers.get('content-length')).toBe(String(artifact.bytes));
    await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' });
    expect((await client.settled(runId)).artifacts).toHaveLength(1);
  });
});

describe('cancel and rerun', () => {
  it('ends a running program and keeps what it printed', async () => {
    const runId = await client.start({ code: "import time\nprint('begun', flush=True)\ntime.sleep(60)" });
    await client.eventsUntil(runId, 'stdout');
    expect((await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' })).status).toBe(202);
    expect(await client.settled(runId)).toMatchObject({
      verdict: 'cancelled',
      type: 'cancelled',
      stdout: 'begun\n',
      success: false,
    });
    expect((await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' })).status).toBe(202);
    expect((await client.execute({ code: 'print(1)' })).json.verdict).toBe('ok');
  });

  it('keeps a waiting run from starting', async () => {
    const busy = await Promise.all([1, 2].map(() => client.start({ code: 'import time\ntime.sleep(60)' })));
    const waiting = await client.start({ code: "print('never')" });
    await gateway.ask(`/v1/runs/${waiting}/cancel`, { key, method: 'POST' });
    expect(await client.settled(waiting)).toMatchObject({ verdict: 'cancelled', stdout: '' });
    for (const runId of busy) await gateway.ask(`/v1/runs/${runId}/cancel`, { key, method: 'POST' });
    for (const runId of busy) expect((await client.settled(runId)).verdict).toBe('cancelled');
  });

  it('runs the same code on the same files again', async () => {
    const id = await client.upload('a.csv', CSV);
    const { json } = await client.execute({ code: "print(len(open('b.csv').read()))", files: [{ id, name: 'b.csv' }] });
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
  it('find its uploads and the files of earlier runs; the newest of a name counts and the upload stays', async () => {
    const sessionId = await client.newSession();
    const fileId = await client.upload('sales.csv', CSV, sessionId);
    const code = [
      'import pandas as pd',
      "df = pd.read_csv('sales.csv')",
      "df['税额'] = df['销售额'] * 0.13",
      "df.to_csv('sales.csv', index=False)",
      "open('note.txt', 'w').write('n')",
      'print(len(df.columns))',
    ].join('\n');
    const first = await client.execute({ code, sessionId });
    expect(first.json).toMatchObject({ verdict: 'ok', stdout: '3\n' });
    expect(first.json.artifacts.map(({ name }: { name: string }) => name).sort()).toEqual(['note.txt', 'sales.csv']);
    expect((await gateway.ask(`/v1/files/${fileId}/content`, { key })).text).toBe(CSV);
    const second = await client.execute({ code: `${code}\nprint(open('note.txt').read())`, sessionId });
    expect(second.json).toMatchObject({ verdict: 'ok', stdout: '3\nn\n' });
    const header = await client.execute({ code: "print(open('sales.csv').readline().strip())", sessionId });
    expect(header.json.stdout).toBe('月份,销售额,税额\n');
    const elsewhere = await client.execute({ code: "import os\nprint(os.listdir('.'))" });
    expect(elsewhere.json.stdout).not.toContain('note.txt');
  });

  it('end with it, and their files go with it', async () => {
    const sessionId = await client.newSession();
    const made = await client.execute({ code: "open('made.txt', 'w').write('x')", sessionId });
    const [artifact] = made.json.artifacts;
    const link = new URL(artifact.url);
    const fetchLink = () => fetch(new URL(link.pathname + link.search, gateway.url));
    expect((await fetchLink()).status).toBe(200);
    const list = await gateway.ask(`/v1/sessions/${sessionId}/files`, { key });
    expect(list.json.artifacts).toMatchObject([{ id: artifact.id, name: 'made.txt', runId: made.json.runId }]);
    const running = await client.start({ code: "print('on', flush=True)\nimport time\ntime.sleep(60)", sessionId });
    await client.eventsUntil(running, 'stdout');
    expect((await gateway.ask(`/v1/sessions/${sessionId}`, { key, method: 'DELETE' })).status).toBe(204);
    expect((await gateway.ask(`/v1/runs/${running}`, { key })).status).toBe(404);
    expect((await gateway.ask(`/v1/artifacts/${artifact.id}/content`, { key })).status).toBe(404);
    expect((await fetchLink()).status).not.toBe(200);
    // Its sandbox is free again.
    expect((await client.execute({ code: 'print(1)' })).json.stdout).toBe('1\n');
  });

  it('do not find figures that were only shown', async () => {
    const sessionId = await client.newSession();
    await client.execute({ code: 'import matplotlib.pyplot as plt\nplt.plot([1]); plt.show()', sessionId });
    expect((await client.execute({ code: "import os\nprint(os.listdir('.'))", sessionId })).json.stdout).toBe('[]\n');
  });

  it('are hidden from another tenant, like everything of theirs', async () => {
    const other = (await gateway.newTenant('Other')).keys.owner;
    const { json } = await client.execute({ code: "open('x.txt', 'w').write('x')" });
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
    const session = await client.newSession();
    expect(
      (await gateway.ask('/v1/code/execute', { key: other, body: { code: '1', sessionId: session } })).status,
    ).toBe(404);
    expect((await gateway.ask(`/v1/runs?sessionId=${session}`, { key: other })).status).toBe(404);
  });
});
