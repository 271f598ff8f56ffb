import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { SANDBOX_DIR, sandboxPython, testFolder, until } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RecordingSink, runnerContract, specOf } from '../runner.contract.ts';
import { LocalRunner } from './local.runner.ts';

async function makeRunner(slots = 2): Promise<LocalRunner> {
  const folder = testFolder('sandbox');
  return new LocalRunner({
    sandboxDir: SANDBOX_DIR,
    python: await sandboxPython(),
    stateDir: join(folder, 'box'),
    outboxDir: join(folder, 'outbox'),
    slots,
  });
}

runnerContract('local', makeRunner);

/** Processes whose command line names this folder. */
function processesOf(folder: string): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .filter((line) => line.includes(folder) && !line.includes('ps -eo'))
    .map((line) => Number.parseInt(line, 10));
}

describe('local runner', () => {
  let runner: LocalRunner;
  let folder: string;
  beforeAll(async () => {
    const parent = testFolder('sandbox');
    folder = join(parent, 'box');
    runner = new LocalRunner({
      sandboxDir: SANDBOX_DIR,
      python: await sandboxPython(),
      stateDir: folder,
      outboxDir: join(parent, 'outbox'),
      slots: 1,
    });
    await runner.start();
  });
  afterAll(async () => {
    await runner.close();
  });

  const never = new AbortController().signal;

  it('starts the box again when it dies, and runs go on', async () => {
    expect((await runner.run(specOf('print(1)'), new RecordingSink(), never)).verdict).toBe('ok');
    const before = processesOf(folder);
    expect(before.length).toBeGreaterThan(0);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await until(async () => !runner.status().ready, { what: 'the death of the box is seen', timeoutMs: 10_000 });
    expect(runner.status()).toMatchObject({ ready: false, idle: 0 });
    // Waits for the new box.
    expect((await runner.run(specOf('print(2)'), new RecordingSink(), never)).verdict).toBe('ok');
  });

  it('says that a sandbox was lost when it dies under a run', async () => {
    const sink = new RecordingSink();
    const begun = new Promise<void>((resolve) => {
      sink.onOutput = () => resolve();
    });
    const running = runner.run(specOf("print('on')\nimport time\ntime.sleep(60)"), sink, never);
    const failed = expect(running).rejects.toMatchObject({ name: 'RunnerError', fault: 'sandbox_lost' });
    await begun;
    for (const pid of processesOf(folder)) process.kill(pid, 'SIGKILL');
    await failed;
  });

  it('leaves no process behind', async () => {
    await runner.close();
    await until(async () => processesOf(folder).length === 0, { what: 'all processes are gone', timeoutMs: 10_000 });
  });

  it('says why there is no sandbox', async () => {
    const broken = new LocalRunner({
      sandboxDir: SANDBOX_DIR,
      python: '/nowhere/python',
      stateDir: join(testFolder('sandbox'), 'box'),
      outboxDir: testFolder('outbox'),
      slots: 1,
    });
    await broken.start();
    const spec = { ...specOf('print(1)'), startBefore: Date.now() + 1_500 };
    await expect(broken.run(spec, new RecordingSink(), never)).rejects.toMatchObject({ fault: 'sandbox_unavailable' });
    expect(broken.status()).toMatchObject({ ready: false, sandbox: 'none', idle: 0 });
    expect(broken.status().reason).toBeTruthy();
    await broken.close();
  });
});
