import { cpus, release } from 'node:os';
import { Stack } from '../support/stack.ts';
import { amongOpenStreams, catchUp, crowd, firstToken, perToken, referenceJob } from './chat.load.ts';
import { warmPods } from './cluster.load.ts';
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
  crowd,
  perToken,
  catchUp,
};
/** Measured only where it is named: it needs a cluster, and a machine without the rest of this. */
const ON_A_CLUSTER = 'warmPods';

/**
 * Measures Moli beside its peers and prints tables with ratios; nothing here passes or fails by a number.
 * `MOLI_LOAD` names the parts to run, separated by commas; `MOLI_LOAD_ROUNDS` the rounds (5). `MOLI_LOAD=warmPods` is what runs on a cluster,
 * found as the cluster tests find it.
 */
async function main(): Promise<void> {
  const rounds = Number(process.env.MOLI_LOAD_ROUNDS ?? 5);
  console.log(
    `${cpus().length} cores (${cpus()[0]?.model}), Linux ${release()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
  );
  if (process.env.MOLI_LOAD === ON_A_CLUSTER) return warmPods(rounds);
  const python = process.env.MOLI_SANDBOX_PYTHON;
  if (!python) throw new Error('MOLI_SANDBOX_PYTHON is missing: run ./moli test load');
  const names = process.env.MOLI_LOAD?.split(',') ?? Object.keys(PARTS);
  const unknown = names.filter((name) => !(name in PARTS));
  if (unknown.length > 0)
    throw new Error(
      `no such part: ${unknown.join(', ')}; there are ${[...Object.keys(PARTS), ON_A_CLUSTER].join(', ')}`,
    );
  const stack = await Stack.start();
  try {
    const context: LoadContext = {
      stack,
      url: `http://127.0.0.1:${stack.place.port}`,
      key: stack.place.key,
      python,
      cache: process.env.MOLI_CACHE ?? '/var/cache/moli',
      rounds,
    };
    for (const name of names) await PARTS[name]?.(context);
  } finally {
    await stack.stop();
  }
}

await main();
