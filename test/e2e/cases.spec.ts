import { readFileSync } from 'node:fs';
import type { ModelServer, Script } from '@moli/scripted-model';
import { afterEach, describe, expect, test } from 'vitest';
import { collect, longAnswer, newSession, ofType, playModel, runsProgram, send, wordsOf } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

/** Cases from the field that only the whole of it can show: upload, turn, run and model together. */
const stack = Stack.shared();
const api = stack.api();
let model: ModelServer | undefined;
afterEach(() => model?.stop());

async function play(script: Script): Promise<ModelServer> {
  model = await playModel(script);
  return model;
}

const caseFile = (name: string): Buffer => readFileSync(new URL(`../cases/files/${name}`, import.meta.url));
/** A case's program without the block at its head that says what is right. */
const snippet = (name: string): string =>
  readFileSync(new URL(`../../sandbox/cases/${name}.py`, import.meta.url), 'utf8').replace(/^(# \w+:.*\n)+/, '');

interface RunResult {
  readonly runId: string;
  readonly verdict: string;
  readonly stdout: string;
  readonly error: { explanation: { zh: string } } | null;
  readonly display: { mimeType: string; text?: string; artifactId?: string }[];
  readonly artifacts: { id: string; name: string; url: string; sha256: string }[];
}

const execute = (code: string, more: object = {}): Promise<RunResult> =>
  api.call<RunResult>('POST', '/v1/code/execute', { code, ...more });

/** What the model was told of its last tool call. */
function toolMessage(server: ModelServer): string {
  const last = server.requests.at(-1)?.body.messages.at(-1);
  expect(last?.role).toBe('tool');
  return String(last?.content);
}

describe('upload', () => {
  test.each([
    ['composed and decomposed', 'e\u0301te\u0301.csv'],
    ['Chinese with a blank', '07饺子 餃子.csv'],
  ])('a file is opened by the composed form of its name, however it was sent: %s (UPL-01, UPL-15)', async (_, sent) => {
    const sessionId = await newSession(api);
    const id = await api.upload(Buffer.from('a,b\n1,2\n'), sent, sessionId);
    const name = sent.normalize('NFC');
    expect(await api.call('GET', `/v1/files/${id}`)).toMatchObject({ name });
    const run = await execute(`print(open(${JSON.stringify(name)}).read())`, { files: [{ id }] });
    expect(run).toMatchObject({ verdict: 'ok', stdout: 'a,b\n1,2\n\n' });
  });

  test('numbers above 2^53 come back as they were sent (SNF-38)', async () => {
    const content = caseFile('nested.json');
    const id = await api.upload(content, 'nested.json', await newSession(api));
    expect(await api.bytes(`/v1/files/${id}/content`)).toEqual(content);
  });

  test('a file that has only a header can be talked about (SNF-22)', async () => {
    const server = await play([{ reply: { steps: [{ text: 'It has no rows.' }] } }]);
    const sessionId = await newSession(api);
    const fileId = await api.upload(caseFile('header-only.csv'), 'header-only.csv', sessionId);
    await send(api, sessionId, 'What is in it?', { fileIds: [fileId] });
    expect((await collect(api, sessionId)).at(-1)?.type).toBe('turn.completed');
    const asked = JSON.stringify(server.requests[0]?.body.messages);
    for (const column of ['日期', '区域', '金额']) expect(asked).toContain(column);
  });

  test('a table of 5,000 columns takes at most 4 KiB of what the model reads (SNF-20)', async () => {
    const server = await play([{ reply: { steps: [{ text: 'Wide.' }] } }]);
    const sessionId = await newSession(api);
    await send(api, sessionId, 'Nothing yet.');
    await collect(api, sessionId);
    const fileId = await api.upload(caseFile('wide.csv'), 'wide.csv', sessionId);
    const { seq } = await send(api, sessionId, 'And now?', { fileIds: [fileId] });
    await collect(api, sessionId, { after: seq });
    const size = (at: number) => Buffer.byteLength(JSON.stringify(server.requests[at]?.body.messages));
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain('5000');
    expect(size(1) - size(0)).toBeLessThan(5_000);
  });
});

describe('display', () => {
  test('a chart is an artifact of the message; no text holds its bytes (DSP-12)', async () => {
    const server = await play(runsProgram('import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()', '见图'));
    const sessionId = await newSession(api);
    await send(api, sessionId, 'Draw.');
    const events = await collect(api, sessionId);
    expect(ofType(events, 'message.completed').at(-1)?.data.text).toBe('见图');
    const { items } = await api.call<{ items: { tools: { artifacts: { id: string; mimeType: string }[] }[] }[] }>(
      'GET',
      `/v1/sessions/${sessionId}/messages`,
    );
    const [chart] = items.at(-1)?.tools[0]?.artifacts ?? [];
    expect(chart?.mimeType).toBe('image/png');
    expect((await api.bytes(`/v1/artifacts/${chart?.id}/content`)).subarray(1, 4).toString()).toBe('PNG');
    expect(server.requests).toHaveLength(2);
    for (const text of [JSON.stringify(events), JSON.stringify(server.requests.map(({ body }) => body))])
      expect(text).not.toMatch(/[A-Za-z0-9+/]{200}/);
  });

  test('of a progress bar the model reads its last state only (DSP-06)', async () => {
    const server = await play(runsProgram(snippet('carriage-returns')));
    const sessionId = await newSession(api);
    await send(api, sessionId, 'Run it.');
    await collect(api, sessionId);
    const told = toolMessage(server);
    expect(told).toContain('2000/2000');
    expect(told).not.toContain('1999/2000');
    expect(told.length).toBeLessThan(500);
  });

  test('NaN and Infinity are strict JSON everywhere, and long numbers keep their digits (DSP-08)', async () => {
    await play(runsProgram(snippet('nan-in-result')));
    const sessionId = await newSession(api);
    await send(api, sessionId, 'Run it.');
    // The client parses every event as JSON; NaN would end it here.
    const events = await collect(api, sessionId);
    expect(ofType(events, 'tool.result')[0]?.data).toMatchObject({ ok: true });
    expect(JSON.stringify(ofType(events, 'run.display'))).toContain('9007199254740993');
    const run = await execute(snippet('nan-in-result'));
    expect(run.display.at(-1)?.text).toContain('9007199254740993');
  });

  test('three figures are three pictures in their order, a saved and shown one is one (DSP-02, DSP-04)', async () => {
    const three = await execute(snippet('three-figures'));
    expect(three.display.map(({ mimeType }) => mimeType)).toEqual(Array(3).fill('image/png'));
    const pictures = three.display.map(({ artifactId }) => three.artifacts.find(({ id }) => id === artifactId));
    expect(pictures.map((picture) => picture?.name)).toEqual(['figure-1.png', 'figure-2.png', 'figure-3.png']);
    expect(new Set(pictures.map((picture) => picture?.sha256)).size).toBe(3);
    const once = await execute(snippet('save-then-show'));
    expect(once.artifacts.map(({ name }) => name)).toEqual(['chart.png']);
  });
});

describe('session', () => {
  test('a stopped and continued answer is one message that holds both parts once (SES-03)', async () => {
    const [first] = longAnswer(400, 20);
    await play([
      { user: /continue|go on|继续/i, reply: { steps: [{ text: 'the rest.' }] } },
      ...(first ? [first] : []),
    ]);
    const sessionId = await newSession(api);
    await send(api, sessionId, 'Tell me a lot.');
    const begun = await collect(api, sessionId, { enough: (event) => event.type === 'text.delta' });
    await api.call('POST', `/v1/sessions/${sessionId}/stop`);
    const stopped = await collect(api, sessionId, { after: begun.at(-1)?.seq });
    expect(stopped.at(-1)?.type).toBe('turn.stopped');
    await api.call('POST', `/v1/sessions/${sessionId}/continue`, {});
    const more = await collect(api, sessionId, { after: stopped.at(-1)?.seq });
    const whole = ofType(more, 'message.completed').at(-1)?.data.text;
    expect(whole).toMatch(/^word0 .*the rest\.$/);
    expect(wordsOf([...begun, ...stopped, ...more])).toBe(whole);
    const { items } = await api.call<{ items: { role: string; text: string; status: string }[] }>(
      'GET',
      `/v1/sessions/${sessionId}/messages`,
    );
    expect(items).toHaveLength(2);
    expect(items[1]).toMatchObject({ text: whole, status: 'completed' });
  });

  test('a session that is deleted while its program runs takes the run with it and tells its readers (SES-09)', async () => {
    await play(
      runsProgram('import time\nopen("left.txt", "w").write("x")\nprint("started", flush=True)\ntime.sleep(25)'),
    );
    const sessionId = await newSession(api);
    await send(api, sessionId, 'Run it.');
    const running = await collect(api, sessionId, { enough: (event) => event.type === 'run.output' });
    const runId = ofType(running, 'run.queued')[0]?.data.runId as string;
    const reading = collect(api, sessionId, {
      after: running.at(-1)?.seq,
      enough: (event) => event.type === 'session.deleted',
    });
    expect((await api.request(`/v1/sessions/${sessionId}`, { method: 'DELETE' })).status).toBe(204);
    expect((await reading).at(-1)?.type).toBe('session.deleted');
    for (const path of [`/v1/sessions/${sessionId}`, `/v1/sessions/${sessionId}/files`, `/v1/runs/${runId}`])
      expect((await api.request(path)).status).toBe(404);
    // The executor is free at once: its only memory of the run is gone with it.
    expect(await execute('print(6 * 7)')).toMatchObject({ verdict: 'ok', stdout: '42\n' });
  });
});

describe('verdict', () => {
  test.each([
    ['input-prompt', 'user_error', {}, /对话/],
    ['recursion', 'user_error', {}, /结束条件/],
    ['network-read', 'user_error', {}, /网络.*上传/],
    ['warnings-only', 'ok', {}, undefined],
    ['thread-left-running', 'ok', { limits: { wallSeconds: 3 } }, undefined],
  ] as const)('%s: %s (VER-01, 05, 07, 09, 11)', async (name, verdict, more, explained) => {
    const run = await execute(snippet(name), more);
    expect(run.verdict).toBe(verdict);
    if (explained) expect(run.error?.explanation.zh).toMatch(explained);
    else expect(run.error).toBeNull();
  });

  test('a column that is not there is answered with those that are (VER-03)', async () => {
    const id = await api.upload(caseFile('dup-columns.csv'), 'data.csv', await newSession(api));
    const run = await execute(snippet('key-with-space'), { files: [{ id }] });
    expect(run).toMatchObject({ verdict: 'user_error', error: { name: 'KeyError', line: 3 } });
    for (const column of ['金额', '金额.1', '备注']) expect(run.error?.explanation.zh).toContain(column);
  });
});
