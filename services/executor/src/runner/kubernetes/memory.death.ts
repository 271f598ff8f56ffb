import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import type { RunReport, RunSpec } from '../runner.ts';

/**
 * Under version 2 of cgroups the kernel ends a container that is full as a whole: with the program dies the monitor that would have said so, and only
 * the status of the Pod tells it from a sandbox that broke.
 */
const CONTAINER = 'sandbox';

function statusOf({ status }: V1Pod): V1ContainerStatus | undefined {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
    ({ name }) => name === CONTAINER,
  );
}

/** How often the kubelet has started the sandbox of a Pod again. */
export function restartsOf(pod: V1Pod): number {
  return statusOf(pod)?.restartCount ?? 0;
}

/** Whether a sandbox that had been started again `restarts` times when its run began was ended for memory; null while its Pod does not say that it ended. */
export function endedForMemory(pod: V1Pod, restarts: number): boolean | null {
  const { state, lastState, restartCount = 0 } = statusOf(pod) ?? {};
  // It is started again at once, or after a wait; an end before the run is none of its own.
  const replaced = restartCount > restarts || state?.waiting !== undefined;
  const ended = state?.terminated ?? (replaced ? lastState?.terminated : undefined);
  return ended ? ended.reason === 'OOMKilled' : null;
}

/** What the monitor would have reported, in its words (`sandbox/moli_sandbox/explain_end.py`). What the program used is not known. */
export function memoryLimitReport(
  { limits }: Pick<RunSpec, 'limits'>,
  { claimMs, runMs, sandbox }: { claimMs: number; runMs: number; sandbox: string },
): RunReport {
  const memory = mebibytes(limits.memoryBytes);
  const explanation = {
    zh: `程序需要的内存超过上限 ${memory}。可以只读需要的列（usecols）、分块读取（chunksize）、使用更小的类型（category、float32），或避免产生巨大的中间结果（如多对多合并）。`,
    en: `The program needed more memory than the limit of ${memory}. Read only the columns you need (usecols), read in pieces (chunksize), use smaller types (category, float32), or avoid huge intermediate results such as many-to-many merges.`,
  };
  return {
    verdict: 'memory_limit',
    exitCode: null,
    signal: 'SIGKILL',
    error: { name: 'MemoryLimit', message: explanation.en, line: null, traceback: '', explanation },
    truncated: { stdout: false, stderr: false },
    skipped: [],
    usage: { wallMs: runMs, cpuMs: 0, maxMemoryBytes: 0, outputBytes: 0 },
    timings: { claimMs, stageMs: 0, runMs, collectMs: 0 },
    sandbox,
  };
}

function mebibytes(bytes: number): string {
  const [count, unit] = bytes >= 2 ** 20 ? [bytes / 2 ** 20, 'MiB'] : [bytes / 1024, 'KiB'];
  return `${count.toLocaleString('en-US', { maximumFractionDigits: 0 })} ${unit}`;
}
