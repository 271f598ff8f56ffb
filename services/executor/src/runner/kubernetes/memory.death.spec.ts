import { execFileSync } from 'node:child_process';
import type { V1ContainerState, V1Pod } from '@kubernetes/client-node';
import { SANDBOX_DIR } from '@moli/testing';
import { expect, test } from 'vitest';
import { specOf } from '../runner.contract.ts';
import { endedForMemory, memoryLimitReport, restartsOf } from './memory.death.ts';

const running: V1ContainerState = { running: {} };
const waiting: V1ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };
const killed: V1ContainerState = { terminated: { exitCode: 137, reason: 'OOMKilled' } };
const failed: V1ContainerState = { terminated: { exitCode: 1, reason: 'Error' } };

/** A Pod whose sandbox is a sidecar, as the chart makes it. */
const pod = (state: V1ContainerState, lastState: V1ContainerState = {}, restartCount = 0): V1Pod => ({
  status: {
    initContainerStatuses: [
      { name: 'sandbox', image: '', imageID: '', ready: false, restartCount, state, lastState } as never,
    ],
    containerStatuses: [
      { name: 'courier', image: '', imageID: '', ready: true, restartCount: 7, state: killed } as never,
    ],
  },
});

test.each<[string, V1Pod, number, boolean | null]>([
  ['is still said to run', pod(running), 0, null],
  ['was ended for memory', pod(killed), 0, true],
  ['was ended for memory and runs again', pod(running, killed, 1), 0, true],
  ['was ended for memory and waits', pod(waiting, killed), 0, true],
  ['failed', pod(failed), 0, false],
  ['failed and runs again', pod(running, failed, 1), 0, false],
  ['was ended for memory before the run', pod(running, killed, 1), 1, null],
  ['was ended for memory before the run and failed under it', pod(failed, killed, 1), 1, false],
  ['says nothing', {}, 0, null],
])('a sandbox that %s', (_, seen, restarts, ended) => {
  expect(endedForMemory(seen, restarts)).toBe(ended);
});

test('restarts are those of the sandbox, not of its courier', () => {
  expect(restartsOf(pod(running, {}, 2))).toBe(2);
  expect(restartsOf({})).toBe(0);
});

test.each([512 * 2 ** 20, 4_096 * 2 ** 20, 65_536])(
  'the report for %i bytes is what the monitor says',
  (memoryBytes) => {
    const program = [
      'import json, sys',
      `sys.path.insert(0, ${JSON.stringify(SANDBOX_DIR)})`,
      'from moli_sandbox import verdict',
      `limits = {"memoryBytes": ${memoryBytes}}`,
      `print(json.dumps(verdict._end("memory_limit", None, "SIGKILL", verdict._limit_error("memory_limit", limits))))`,
    ].join('\n');
    const said = JSON.parse(execFileSync('/usr/bin/python3', ['-I', '-S', '-B', '-c', program], { encoding: 'utf8' }));
    const { limits } = specOf('');
    const at = { claimMs: 1, runMs: 2, sandbox: 'seccomp' };
    expect(memoryLimitReport({ limits: { ...limits, memoryBytes } }, at)).toMatchObject(said);
  },
);
