import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const BIN = join(ROOT, 'node_modules/.bin');
const GENERATED = 'moli/executor/v1/courier.ts';

const buf = (...args: string[]): Promise<unknown> =>
  promisify(execFile)(join(BIN, 'buf'), args, {
    cwd: ROOT,
    env: { ...process.env, PATH: `${BIN}:${process.env.PATH}` },
  });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moli-proto-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('keeps the rules of buf', async () => {
  await buf('lint');
});

it('has generated code that is fresh: npm run proto', async () => {
  await buf('generate', '--output', folder);
  const [fresh, committed] = await Promise.all([
    readFile(join(folder, 'libs/rpc/src/generated', GENERATED), 'utf8'),
    readFile(join(import.meta.dirname, 'generated', GENERATED), 'utf8'),
  ]);
  expect(committed).toBe(fresh);
});
