import { reactive } from 'vue';
import { problemOf } from '../api/client.ts';
import { getRun, runEventsUrl } from '../api/routes.ts';
import type { Display, RunResult } from '../api/types.ts';
import type { ToolCall } from '../sessions/session-fold.ts';

export interface RunFollower {
  readonly runId: string;
  call: ToolCall;
}

/** Follows a run that a person started again, outside of the session log, and keeps it in the form of a tool call. */
export function createRunFollower(runId: string, first: ToolCall): RunFollower {
  const follower = reactive<RunFollower>({
    runId,
    call: {
      callId: runId,
      name: first.name,
      arguments: first.arguments,
      trigger: 'person',
      state: 'queued',
      startedAt: Date.now(),
      stateAt: Date.now(),
      runId,
      stdout: '',
      stderr: '',
      displays: [],
      artifacts: [],
    },
  });
  const change = (changes: Partial<ToolCall>) => {
    follower.call = { ...follower.call, ...changes };
  };
  void settle(runId, follower, change);
  return follower;
}

type Change = (changes: Partial<ToolCall>) => void;

/** Takes the result of a finished run; one that still runs is followed. */
async function settle(runId: string, follower: RunFollower, change: Change): Promise<void> {
  try {
    const run = await getRun(runId);
    if (run.state === 'finished') change(callOf(run, follower.call));
    else follow(runId, follower, change);
  } catch (error) {
    change({ state: 'done', ok: false, error: { message: problemOf(error).detail } });
  }
}

function follow(runId: string, follower: RunFollower, change: Change): void {
  const source = new EventSource(runEventsUrl(runId));
  const text = (data: string) => (JSON.parse(data) as { text: string }).text;
  source.addEventListener('stage', (event) => {
    const { stage } = JSON.parse(event.data) as { stage: ToolCall['state'] };
    change({ state: stage, stateAt: Date.now() });
  });
  source.addEventListener('stdout', (event) => change({ stdout: follower.call.stdout + text(event.data) }));
  source.addEventListener('stderr', (event) => change({ stderr: follower.call.stderr + text(event.data) }));
  source.addEventListener('display', (event) => {
    change({ displays: [...follower.call.displays, JSON.parse(event.data) as Display] });
  });
  source.addEventListener('result', (event) => {
    source.close();
    change(callOf(JSON.parse(event.data) as RunResult, follower.call));
  });
  source.onerror = () => {
    // A broken connection is taken up again by the browser itself; a refused one is over.
    if (source.readyState === EventSource.CLOSED) void settle(runId, follower, change);
  };
}

/** A finished run in the form of a tool call. */
export function callOf(result: RunResult, call: ToolCall): Partial<ToolCall> {
  const artifacts = result.artifacts ?? [];
  const displays = (result.display ?? []).map(({ artifactId, ...display }) => ({
    ...display,
    artifact: artifacts.find((artifact) => artifact.id === artifactId),
  }));
  return {
    state: 'done',
    ok: result.success,
    verdict: result.verdict,
    stdout: result.stdout ?? call.stdout,
    stderr: result.stderr ?? call.stderr,
    displays,
    artifacts,
    error: result.error ?? undefined,
    durationMs: result.usage?.wallMs ?? Date.now() - call.startedAt,
    usage: result.usage,
    timings: result.timings,
  };
}
