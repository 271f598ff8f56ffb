import type { ModelChoice } from '../models/models.service.ts';
import type { ModelCall } from '../models/provider.types.ts';
import type { EventData } from '../sessions/event.schema.ts';
import type { ToolResult } from '../tools/tool.types.ts';
import type { Unit } from './transcript.ts';

/** The reason for a call in the trace: the last words before it, in characters. */
const TRIGGER_CHARACTERS = 500;
/** How long a tool may take to answer after its turn was cut. */
const TOOL_GRACE_MILLISECONDS = 3_000;

/** Why the model made a call, in its own words: what it said before, else what it thought. */
export function triggerOf({ text, reasoning }: { text: string; reasoning: string }): string {
  const words = text.trim() || reasoning.trim();
  if (words.length <= TRIGGER_CHARACTERS) return words;
  return `…${words.slice(-TRIGGER_CHARACTERS).toWellFormed()}`;
}

/** The arguments as they may be sent back to a model server: always the text of a JSON object. */
export function sendableArguments(call: ModelCall, result: ToolResult): string {
  try {
    const value: unknown = JSON.parse(call.arguments);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return call.arguments;
  } catch {
    // What the model wrote is no JSON; the tool's reading of it is.
  }
  return JSON.stringify(result.arguments ?? {});
}

/** The result of a call as the session log holds it. */
export function resultData(callId: string, name: string, result: ToolResult): EventData<'tool.result'> {
  const { ok, content, error, artifacts, durationMs, runId, outcome } = result;
  return {
    callId,
    name,
    ok,
    durationMs,
    content,
    artifacts: artifacts.map((artifact) => ({ ...artifact })),
    ...(runId ? { runId } : {}),
    ...(error ? { error: { ...error } } : {}),
    ...(outcome
      ? {
          verdict: outcome.verdict,
          usage: {
            wallMs: outcome.usage.wallMs,
            cpuMs: outcome.usage.cpuMs,
            maxMemoryBytes: outcome.usage.maxMemoryBytes,
          },
          timings: { ...outcome.timings },
        }
      : {}),
  };
}

/** The result of a tool; when the turn is cut and the tool does not react, the cut wins. */
export async function withGrace<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), TOOL_GRACE_MILLISECONDS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
    if (onAbort) signal.removeEventListener('abort', onAbort);
  }
}

/** Tokens of what a model delivered, counted here: its server did not say. */
export async function completionTokens(
  { provider }: ModelChoice,
  { text, reasoning, calls }: { text: string; reasoning: string; calls: readonly ModelCall[] },
): Promise<number> {
  const words = [reasoning, text, ...calls.map((call) => `${call.name}${call.arguments}`)].join('');
  if (words === '') return 0;
  const measure = await provider.measure([{ role: 'assistant', content: words }], []);
  return measure.messages[0] ?? 0;
}

/** Whether the answer so far ends in words and not with a tool's result. */
export function endsInWords(units: readonly Unit[]): boolean {
  return units.at(-1)?.at(-1)?.role === 'assistant';
}
