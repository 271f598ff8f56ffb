import type { ArtifactRef, Display, RunError } from './types.ts';

export interface FileRef {
  id: string;
  name: string;
  bytes: number;
  mimeType: string;
}

export interface TurnUsage {
  promptTokens: number;
  completionTokens: number;
  steps: number;
}

export interface TurnProblem {
  code: string;
  title?: string;
  detail: { zh: string; en: string };
}

/** Data of each event of the session log. */
export interface EventData {
  'message.created': {
    messageId: string;
    role: 'user' | 'assistant';
    text: string;
    files: FileRef[];
    clientMessageId?: string;
    userId?: string;
  };
  'turn.started': {
    model: string;
    reason: string;
    agentId: string;
    scripted?: boolean;
    continues?: string;
    replaces?: string;
  };
  'text.delta': { text: string };
  'reasoning.delta': { text: string };
  'tool.call': { callId: string; name: string; arguments: Record<string, unknown>; trigger: string };
  'run.queued': { callId: string; runId: string; position?: number };
  'run.started': { callId: string; runId: string; stage: 'preparing' | 'running' | 'collecting' };
  'run.output': { callId: string; runId: string; stream: 'stdout' | 'stderr'; text: string };
  'run.display': { callId: string; runId: string; display: Display };
  'tool.result': {
    callId: string;
    name: string;
    ok: boolean;
    durationMs: number;
    runId?: string;
    verdict?: string;
    content: string;
    error?: RunError;
    artifacts: ArtifactRef[];
    usage?: { wallMs: number; cpuMs: number; maxMemoryBytes: number };
    timings?: Record<string, number>;
  };
  'message.completed': {
    messageId: string;
    text: string;
    reasoning?: string;
    status: 'completed' | 'stopped' | 'failed' | 'interrupted';
  };
  'message.edited': { messageId: string; text: string };
  'turn.completed': { usage: TurnUsage; durationMs: number };
  'turn.stopped': { usage: TurnUsage; durationMs: number; by?: string };
  'turn.failed': { problem: TurnProblem; durationMs: number };
  'turn.interrupted': { reason: string };
  'session.updated': { title: string };
  'session.deleted': Record<string, never>;
}

export type EventType = keyof EventData;

/** One entry of the session log. `messageId` names the assistant message that the turn is writing. */
export type SessionEvent = {
  [K in EventType]: {
    seq: number;
    sessionId: string;
    turnId?: string;
    messageId?: string;
    type: K;
    at: string;
    data: EventData[K];
  };
}[EventType];
