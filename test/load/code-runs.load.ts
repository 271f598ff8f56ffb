import { existsSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { LoadContext } from './context.ts';
import { CHINESE_BARS, GROUP_BY, IMPORTS, PRINT } from './jobs.ts';
import { CrunPeer } from './peers/crun.ts';
import { freshPython } from './peers/fresh-python.ts';
import { JupyterPeer } from './peers/jupyter.ts';
import { digits, figuresOf, interleaved, printSeries, printTable, timed } from './statistics.ts';

const agent = new Agent({ connections: 64 });
/** Ours is measured ten times a round: its runs are so short that single ones tell little. */
const OURS_A_ROUND = 10;

interface RunAnswer {
  readonly verdict: string;
  readonly timings: Readonly<Record<string, number>>;
}

/** One run through the public API: authentication, audit row, queue, sandbox, collection, answer. */
export async function ourRun({ url, key }: Pick<LoadContext, 'url' | 'key'>, code: string): Promise<RunAnswer> {
  const answer = await request(`${url}/v1/code/execute`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  const result = (await answer.body.json()) as RunAnswer;
  if (result.verdict !== 'ok')
    throw new Error(`a timed run ended ${answer.statusCode} ${JSON.stringify(result).slice(0, 300)}`);
  return result;
}

/** G1, G4: one run at a time, ours and the peers in turn. */
export async function latency(context: LoadContext): Promise<void> {
  const jupyter = await JupyterPeer.start(context.python, context.cache);
  const crun = existsSync('/usr/bin/crun')
    ? await CrunPeer.start(context.python, existsSync('/sys/fs/cgroup/unified'))
    : null;
  try {
    for (const [name, code] of [
      ['print(1)', PRINT],
      ['import pandas and pyplot, print(1) (G1)', IMPORTS],
      ['pandas group-by', GROUP_BY],
      ['Chinese bar chart to PNG (G4)', CHINESE_BARS],
    ] as const) {
      await ourRun(context, code);
      const series = await interleaved(
        context.rounds,
        {
          Moli: () => timed(() => ourRun(context, code)),
          'fresh python3': () => timed(() => freshPython(context.python, code)),
          'fresh Jupyter kernel': () => timed(() => jupyter.run(code)),
          ...(crun ? { 'crun per run': () => timed(() => crun.run(code)) } : {}),
        },
        { Moli: OURS_A_ROUND },
      );
      printSeries(name, 'ms', series);
    }
  } finally {
    jupyter.stop();
    await crun?.stop();
  }
}

/** Finished runs a second while `callers` keep one going each, for about `seconds`. */
async function rate(seconds: number, callers: number, work: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let done = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) {
        await work();
        done += 1;
      }
    }),
  );
  return (done * 1000) / (performance.now() - start);
}

/** G2: isolated runs a second. */
export async function throughput(context: LoadContext): Promise<void> {
  const crun = existsSync('/usr/bin/crun')
    ? await CrunPeer.start(context.python, existsSync('/sys/fs/cgroup/unified'))
    : null;
  const rows: string[][] = [];
  for (const [name, code] of [
    ['print(1)', PRINT],
    ['pandas group-by', GROUP_BY],
  ] as const) {
    const ours: number[] = [];
    const peers: number[] = [];
    for (let round = 0; round < context.rounds; round += 1) {
      ours.push(await rate(3, 4, () => ourRun(context, code)));
      if (crun) peers.push(await rate(3, 2, () => crun.run(code)));
    }
    const [mine, theirs] = [figuresOf(ours), peers.length > 0 ? figuresOf(peers) : null];
    rows.push([
      name,
      `${digits(mine.p50)} (${digits(mine.min)}–${digits(mine.max)})`,
      theirs ? `${digits(theirs.p50)} (${digits(theirs.min)}–${digits(theirs.max)})` : '–',
      theirs ? `${digits(mine.p50 / theirs.p50)}×` : '–',
    ]);
  }
  await crun?.stop();
  printTable('Runs a second (G2), median of rounds', ['', 'Moli, 4 callers', 'crun per run, 2 callers', 'ratio'], rows);
}

/** G5, first half: from the write in the program to the SSE client of the run. The program prints its own clock. */
export async function firstByte(context: LoadContext): Promise<void> {
  const delays: number[] = [];
  for (let time = 0; time < context.rounds * 4; time += 1) delays.push(await outputDelay(context));
  printSeries('First output byte at the SSE client after the write (G5)', 'ms', new Map([['Moli', delays]]));
}

async function outputDelay({ url, key }: LoadContext): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const started = await request(`${url}/v1/code/execute`, {
    method: 'POST',
    dispatcher: agent,
    headers: { ...headers, prefer: 'respond-async' },
    body: JSON.stringify({ code: 'import time\ntime.sleep(0.3)\nprint(time.time(), flush=True)\ntime.sleep(0.2)' }),
  });
  const { runId } = (await started.body.json()) as { runId: string };
  const events = await request(`${url}/v1/runs/${runId}/events`, { dispatcher: agent, headers });
  let text = '';
  for await (const piece of events.body) {
    const now = Date.now();
    text += String(piece);
    const written = /(\d{10}\.\d+)/.exec(text)?.[1];
    if (written) {
      events.body.destroy();
      return now - Number(written) * 1000;
    }
  }
  throw new Error(`no output came: ${text.slice(0, 200)}`);
}
