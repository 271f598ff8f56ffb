import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SANDBOX_DIR, testFolder } from '@moli/testing';
import { expect, test } from 'vitest';
import { SILENT_MS, sandboxState } from './sandbox.state.ts';

const never = new AbortController().signal;

/** The constant of a Python file of the sandbox. */
function secondsOf(file: string, pattern: RegExp): number {
  const found = pattern.exec(readFileSync(join(SANDBOX_DIR, 'moli_sandbox', file), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${pattern} is not in ${file}`);
  return Number(found);
}

test('the courier is more patient than the box needs to come up and to try its first run', () => {
  const comingUp = secondsOf('pod.py', /ready_seconds = ([\d.]+)/);
  const firstRun = secondsOf('canary.py', /^SECONDS = ([\d.]+)/m);
  expect(SILENT_MS).toBeGreaterThan((comingUp + firstRun) * 1_000);
});

test.each([
  [
    { ready: true, strength: 'landlock+seccomp' },
    { strength: 'landlock+seccomp', fault: '' },
  ],
  [
    { ready: false, reason: 'no namespaces' },
    { strength: '', fault: 'no namespaces' },
  ],
  [{ ready: 'maybe' }, { strength: '', fault: 'the sandbox wrote a ready.json that cannot be read' }],
])('what the sandbox says later is heard: %j', async (said, state) => {
  const folder = testFolder('sandbox-state');
  const heard = sandboxState(join(folder, 'zygote.sock'), never);
  await writeFile(join(folder, 'new'), JSON.stringify(said));
  await rename(join(folder, 'new'), join(folder, 'ready.json'));
  expect(await heard).toEqual(state);
});

test('a sandbox that stays silent is a fault, in the end', async () => {
  const silent = sandboxState(join(testFolder('sandbox-state'), 'zygote.sock'), never, 200);
  expect(await silent).toEqual({ strength: '', fault: 'the sandbox said nothing for 0.2 s' });
});
