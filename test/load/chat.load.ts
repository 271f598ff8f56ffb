import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChatRequest,
  lastUserText,
  type ModelServer,
  mainScene,
  type Reply,
  type Script,
  startModelServer,
} from '@moli/scripted-model';
import { Agent, request } from 'undici';
import { newSession, salesCsv, send } from '../support/scene.ts';
import { appendEvents, type LoadContext } from './context.ts';
import { memoryOf } from './memory.load.ts';
import { digits, type Figures, figuresOf, printSeries, printTable } from './statistics.ts';

const agent = new Agent({ connections: 2048 });
const MODEL = { apiKey: 'test-key', models: ['scripted-test'] };

function playModel(context: LoadContext, script: Script): Promise<ModelServer> {
  return startModelServer({ script, port: context.stack.place.modelPort, ...MODEL });
}

/** Reads an event stream until `enough`; calls back with each block's data. */
async function readEvents(
  context: LoadContext,
  path: string,
  enough: (event: { type: string; seq: number; data: { text?: string } }) => boolean,
): Promise<void> {
  const answer = await request(`${context.url}${path}`, {
    dispatcher: agent,
    headers: { authorization: `Bearer ${context.key}`, accept: 'text/event-stream' },
  });
  let buffer = '';
  for await (const piece of answer.body.setEncoding('utf8')) {
    buffer += piece;
    const blocks = buffer.split('\n\n');
    buffer = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data && enough(JSON.parse(data))) {
        answer.body.destroy();
        return;
      }
    }
  }
  throw new Error('the stream ended early');
}

/** The same script without its pace: what is left of the time is Moli's own. */
function atOnce(script: Script): Script {
  const strip = (reply: Reply): Reply =>
    'steps' in reply
      ? {
          ...reply,
          steps: reply.steps.map((step) =>
            'text' in step || 'call' in step ? { ...step, delayMs: 0, piece: 400 } : step,
          ),
        }
      : reply;
  return script.map((rule) => {
    const { reply } = rule;
    return { ...rule, reply: typeof reply === 'function' ? (asked) => strip(reply(asked)) : strip(reply) };
  });
}

/** G29: the whole scene after the upload, from the question to the end of the answer; the scripted model answers at once. */
export async function referenceJob(context: LoadContext): Promise<void> {
  const model = await playModel(context, atOnce(mainScene));
  const times: number[] = [];
  const api = context.stack.api();
  try {
    for (let time = 0; time < context.rounds * 4; time += 1) {
      const sessionId = await newSession(api);
      const fileId = await api.upload(Buffer.from(salesCsv()), 'sales_data.csv', sessionId);
      const start = performance.now();
      await send(api, sessionId, '分析最近三个月的销售趋势，画一张折线图', { fileIds: [fileId], locale: 'zh' });
      await readEvents(context, `/v1/sessions/${sessionId}/events?after=0`, ({ type }) => type === 'turn.completed');
      times.push(performance.now() - start);
    }
  } finally {
    await model.stop();
  }
  printSeries(
    'Reference job: CSV to chart in the answer, model time excluded (G29)',
    'ms',
    new Map([['Moli', times.slice(1)]]),
  );
}

/** An answer of the model server itself, as a client without Moli would get it. */
async function askModel(port: number) {
  const { body } = await request(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: 'Bearer test-key', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted-test', stream: true, messages: [{ role: 'user', content: 'hello' }] }),
  });
  return body;
}

async function directFirstToken(port: number): Promise<number> {
  const start = performance.now();
  const body = await askModel(port);
  for await (const piece of body.setEncoding('utf8'))
    if (/"content":"[^"]/.test(piece)) {
      body.destroy();
      return performance.now() - start;
    }
  throw new Error('the model server sent no word');
}

async function firstTokenThroughMoli(context: LoadContext, sessionId: string, after: number): Promise<number> {
  const start = performance.now();
  const reading = readEvents(
    context,
    `/v1/sessions/${sessionId}/events?after=${after}`,
    ({ type }) => type === 'text.delta',
  );
  await send(context.stack.api(), sessionId, 'hello');
  await reading;
  return performance.now() - start;
}

const FIRST_WORD_HEAD = ['streams', 'model server alone, p50 / p99', 'through Moli, p50 / p99', 'added p50'];

const firstWordRow = (streams: number, peer: Figures, mine: Figures): string[] => [
  String(streams),
  `${digits(peer.p50)} / ${digits(peer.p99)}`,
  `${digits(mine.p50)} / ${digits(mine.p99)}`,
  digits(mine.p50 - peer.p50),
];

/** G21 at its hardest: what Moli adds to the time to the first word when 1, 50 or 200 messages are sent in the same instant. */
export async function firstToken(context: LoadContext): Promise<void> {
  const words = Array.from({ length: 60 }, (_, n) => `word${n} `).join('');
  const script: Script = [{ reply: { steps: [{ text: words, piece: 6, delayMs: 25 }] } }];
  const model = await playModel(context, script);
  const rows: string[][] = [];
  const api = context.stack.api();
  try {
    for (const streams of [1, 50, 200]) {
      const [direct, ours]: [number[], number[]] = [[], []];
      const repeats = streams === 1 ? context.rounds * 4 : Math.max(2, Math.ceil(context.rounds / 2));
      for (let time = 0; time < repeats; time += 1) {
        direct.push(
          ...(await Promise.all(
            Array.from({ length: streams }, () => directFirstToken(context.stack.place.modelPort)),
          )),
        );
        const sessions = await Promise.all(Array.from({ length: streams }, () => newSession(api)));
        ours.push(...(await Promise.all(sessions.map((id) => firstTokenThroughMoli(context, id, 0)))));
        await Promise.all(
          sessions.map((id) =>
            readEvents(context, `/v1/sessions/${id}/events?after=0`, ({ type }) => type === 'turn.completed'),
          ),
        );
      }
      rows.push(firstWordRow(streams, figuresOf(direct), figuresOf(ours)));
    }
  } finally {
    await model.stop();
  }
  printTable(
    'Time to the first word when so many messages are sent in the same instant, ms (G21)',
    FIRST_WORD_HEAD,
    rows,
  );
}

/** How long each answer of `amongOpenStreams` lasts, in milliseconds. */
const ANSWER_MS = 10_000;
const PIECE_MS = 25;

/** A stream under way: when its first word came, in milliseconds, and when it was over. */
interface OpenStream {
  readonly first: Promise<number>;
  readonly ended: Promise<void>;
}

function openStream(read: (firstWord: () => void) => Promise<unknown>): OpenStream {
  const start = performance.now();
  const first = Promise.withResolvers<number>();
  const ended = read(() => first.resolve(performance.now() - start)).then(() => {});
  ended.catch(first.reject);
  return { first: first.promise, ended };
}

/** Streams begin evenly, as many as are open at a time while one answer lasts. Answers the times of those that begin while all the others are open. */
async function firstWordsAmong(streams: number, begin: () => Promise<OpenStream>): Promise<number[]> {
  const start = performance.now();
  const begun: Promise<OpenStream>[] = [];
  while (begun.length < 2 * streams) {
    begun.push(begin());
    await sleep(Math.max(0, start + (begun.length * ANSWER_MS) / streams - performance.now()));
  }
  const all = await Promise.all(begun);
  const times = await Promise.all(all.slice(streams).map(({ first }) => first));
  await Promise.all(all.map(({ ended }) => ended));
  return times;
}

/** G21 for streams that are open at the same time but do not begin in the same instant: people who ask while others are being answered. */
export async function amongOpenStreams(context: LoadContext): Promise<void> {
  const pieces = ANSWER_MS / PIECE_MS;
  const text = 'word '.repeat(pieces);
  const model = await playModel(context, [{ reply: { steps: [{ text, piece: 5, delayMs: PIECE_MS }] } }]);
  const api = context.stack.api();
  const direct = async (): Promise<OpenStream> =>
    openStream(async (firstWord) => {
      const body = await askModel(context.stack.place.modelPort);
      for await (const piece of body.setEncoding('utf8')) if (/"content":"[^"]/.test(piece)) firstWord();
    });
  const throughMoli = async (): Promise<OpenStream> => {
    const id = await newSession(api);
    return openStream((firstWord) => {
      const reading = readEvents(context, `/v1/sessions/${id}/events?after=0`, ({ type }) => {
        if (type === 'text.delta') firstWord();
        return type === 'turn.completed';
      });
      return Promise.all([reading, send(api, id, 'hello')]);
    });
  };
  const rows: string[][] = [];
  try {
    for (const streams of [50, 200]) {
      const peer = figuresOf(await firstWordsAmong(streams, direct));
      const mine = figuresOf(await firstWordsAmong(streams, throughMoli));
      rows.push(firstWordRow(streams, peer, mine));
    }
  } finally {
    await model.stop();
  }
  printTable(
    'Time to the first word while so many streams are open, beginning evenly, ms (G21)',
    FIRST_WORD_HEAD,
    rows,
  );
}

const CROWD = 500;
const CROWD_PIECE_MS = 100;

/** G21: 500 streams, each with words of its own. What a reader got is compared with what its model said. */
export async function crowd(context: LoadContext): Promise<void> {
  const words = (name: string): string =>
    Array.from({ length: ANSWER_MS / CROWD_PIECE_MS }, (_, n) => `${name}-${n} `).join('');
  // Whole words as pieces: their lengths differ from answer to answer.
  const reply = (asked: ChatRequest): Reply => ({
    steps: words(lastUserText(asked))
      .split(/(?<= )/)
      .map((text) => ({ text, delayMs: CROWD_PIECE_MS })),
  });
  const model = await playModel(context, [{ reply }]);
  const api = context.stack.api();
  const gateway = await context.stack.pidOf('gateway');
  let wrong = 0;
  let peak = 0;
  const before = memoryOf(gateway).pss;
  const watch = setInterval(() => {
    peak = Math.max(peak, memoryOf(gateway).pss);
  }, 500);
  let begun = 0;
  const begin = async (): Promise<OpenStream> => {
    const name = `stream${begun++}`;
    const id = await newSession(api);
    return openStream(async (firstWord) => {
      let got = '';
      const reading = readEvents(context, `/v1/sessions/${id}/events?after=0`, ({ type, data }) => {
        if (type === 'text.delta') {
          firstWord();
          got += data.text ?? '';
        }
        return type === 'turn.completed';
      });
      await Promise.all([reading, send(api, id, name)]);
      if (got.trim() !== words(name).trim()) wrong += 1;
    });
  };
  try {
    const { p50, p99 } = figuresOf(await firstWordsAmong(CROWD, begin));
    printTable(
      `${CROWD} streams open at the same time (G21)`,
      [
        'streams in all',
        'lost, merged or altered',
        'first word p50 / p99, ms',
        'gateway before, MB',
        'at its most, MB',
      ],
      [[String(begun), String(wrong), `${digits(p50)} / ${digits(p99)}`, digits(before / 1e6), digits(peak / 1e6)]],
    );
  } finally {
    clearInterval(watch);
    await model.stop();
  }
}

/** CPU of a process so far, in milliseconds; the kernel counts hundredths of a second. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** What a streamed piece of an answer costs the gateway: read from the model, merged, stored, published, sent to its reader. */
export async function perToken(context: LoadContext): Promise<void> {
  const pieces = 400;
  const text = Array.from({ length: pieces }, () => 'word ').join('');
  const model = await playModel(context, [{ reply: { steps: [{ text, piece: 5, delayMs: 20 }] } }]);
  const api = context.stack.api();
  const gateway = await context.stack.pidOf('gateway');
  const rows: string[][] = [];
  try {
    for (const streams of [1, 50, 200]) {
      const sessions = await Promise.all(Array.from({ length: streams }, () => newSession(api)));
      const [cpu, start] = [cpuMs(gateway), performance.now()];
      const readers = sessions.map((id) =>
        readEvents(context, `/v1/sessions/${id}/events?after=0`, ({ type }) => type === 'turn.completed'),
      );
      await Promise.all(sessions.map((id) => send(api, id, 'hello')));
      await Promise.all(readers);
      const [used, seconds] = [cpuMs(gateway) - cpu, (performance.now() - start) / 1000];
      const perPiece = (used * 1000) / (streams * pieces);
      rows.push([String(streams), digits((streams * pieces) / seconds), digits(perPiece), digits(used / seconds / 10)]);
    }
  } finally {
    await model.stop();
  }
  printTable(
    'CPU of the gateway for a streamed piece, one piece every 20 ms a stream, turn start included',
    ['streams at once', 'pieces a second', 'µs of CPU a piece', '% of a core'],
    rows,
  );
}

/** G26: a reader that was away catches up with a long log.  */
export async function catchUp(context: LoadContext): Promise<void> {
  const events = 10_000;
  const sessionId = await newSession(context.stack.api());
  await appendEvents(context, sessionId, events);
  const times: number[] = [];
  for (let time = 0; time < context.rounds * 2; time += 1) {
    const start = performance.now();
    await readEvents(context, `/v1/sessions/${sessionId}/events?after=0`, ({ seq }) => seq >= events);
    times.push(performance.now() - start);
  }
  const thousand: number[] = [];
  for (let time = 0; time < context.rounds * 4; time += 1) {
    const start = performance.now();
    await readEvents(context, `/v1/sessions/${sessionId}/events?after=${events - 1000}`, ({ seq }) => seq >= events);
    thousand.push(performance.now() - start);
  }
  printSeries(
    'Catching up over SSE (G26)',
    'ms',
    new Map([
      ['10,000 events', times],
      ['1,000 events', thousand],
    ]),
  );
}
