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
      runId,
      stdout: '',
      stderr: '',
      displays: [],
      artifacts: [],
    },
  });
  const source = new EventSource(runEventsUrl(runId));
  const change = (changes: Partial<ToolCall>) => {
    follower.call = { ...follower.call, ...changes };
  };
  const text = (data: string) => (JSON.parse(data) as { text: string }).text;

  source.addEventListener('started', (event) => change({ state: stageOf(event.data) }));
  source.addEventListener('stdout', (event) =>
    change({ state: 'running', stdout: follower.call.stdout + text(event.data) }),
  );
  source.addEventListener('stderr', (event) =>
    change({ state: 'running', stderr: follower.call.stderr + text(event.data) }),
  );
  source.addEventListener('display', (event) => {
    const data = JSON.parse(event.data) as Display & { display?: Display };
    change({ displays: [...follower.call.displays, data.display ?? data] });
  });
  source.addEventListener('result', (event) => {
    source.close();
    const data = JSON.parse(event.data) as RunResult & { result?: RunResult };
    change(callOf(data.result ?? data, follower.call));
  });
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    getRun(runId)
      .then((result) => change(callOf(result, follower.call)))
      .catch((error) => change({ state: 'done', ok: false, error: { message: problemOf(error).detail } }));
  };
  return follower;
}

function stageOf(data: string): ToolCall['state'] {
  const { stage } = JSON.parse(data) as { stage?: ToolCall['state'] };
  return stage ?? 'running';
}

/** A finished run in the form of a tool call. */
export function callOf(result: RunResult, call: ToolCall): Partial<ToolCall> {
  const artifacts = result.artifacts ?? [];
  const displays = (result.display ?? []).map(({ artifactId, ...display }) => ({
    ...display,
    artifact: display.artifact ?? artifacts.find((artifact) => artifact.id === artifactId),
  }));
  return {
    state: 'done',
    ok: result.success,
    verdict: result.verdict,
    stdout: result.stdout ?? call.stdout,
    stderr: result.stderr ?? call.stderr,
    displays: displays.length > 0 ? displays : call.displays,
    artifacts,
    error: result.error ?? undefined,
    durationMs: result.usage?.wallMs ?? Date.now() - call.startedAt,
    usage: result.usage,
    timings: result.timings,
  };
}
