import { cpus, release } from 'node:os';
import { Stack } from '../support/stack.ts';
import { amongOpenStreams, catchUp, firstToken, perToken, referenceJob } from './chat.load.ts';
import { firstByte, latency, throughput } from './code-runs.load.ts';
import type { LoadContext } from './context.ts';
import { memory } from './memory.load.ts';

const PARTS: Readonly<Record<string, (context: LoadContext) => Promise<void>>> = {
  memory,
  latency,
  throughput,
  firstByte,
  referenceJob,
  firstToken,
  amongOpenStreams,
  perToken,
  catchUp,
};

/**
 * Measures Moli beside its peers and prints tables with ratios; nothing here passes or fails by a number.
 * `MOLI_LOAD` names the parts to run, separated by commas; `MOLI_LOAD_ROUNDS` the rounds (5).
 */
async function main(): Promise<void> {
  const python = process.env.MOLI_SANDBOX_PYTHON;
  if (!python) throw new Error('MOLI_SANDBOX_PYTHON is missing: run ./moli test load');
  const names = process.env.MOLI_LOAD?.split(',') ?? Object.keys(PARTS);
  const unknown = names.filter((name) => !(name in PARTS));
  if (unknown.length > 0)
    throw new Error(`no such part: ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);
  const stack = await Stack.start();
  try {
    console.log(
      `${cpus().length} cores (${cpus()[0]?.model}), Linux ${release()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
    );
    const context: LoadContext = {
      stack,
      url: `http://127.0.0.1:${stack.place.port}`,
      key: stack.place.key,
      python,
      cache: process.env.MOLI_CACHE ?? '/var/cache/moli',
      rounds: Number(process.env.MOLI_LOAD_ROUNDS ?? 5),
    };
    for (const name of names) await PARTS[name]?.(context);
  } finally {
    await stack.stop();
  }
}

await main();
