import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/**
 * Builds the stand-ins of the images of `eval.enabled` and prints their names: `node test/cluster/images/build-stand-ins.ts COMMAND…`, where the command
 * takes `-t NAME CONTEXT`. They get the names that the chart gives with `image.registry=localhost`.
 */
const values = parse(readFileSync(new URL('../../../charts/moli/values.yaml', import.meta.url), 'utf8')) as {
  readonly eval: Readonly<Record<'postgres' | 'redis' | 's3', { readonly image: string }>>;
};
const FOLDERS = { postgres: 'postgres', redis: 'redis', s3: 'seaweedfs' } as const;

const [program, ...args] = process.argv.slice(2);
if (!program) throw new Error('usage: build-stand-ins.ts COMMAND…, such as: podman build');
for (const [part, folder] of Object.entries(FOLDERS)) {
  const image = `localhost/${values.eval[part as keyof typeof FOLDERS].image}`;
  const context = fileURLToPath(new URL(folder, import.meta.url));
  const { status, error } = spawnSync(program, [...args, '-t', image, context], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${image} was not built (${error?.message ?? `exit status ${status}`})`);
  process.stdout.write(`${image}\n`);
}
