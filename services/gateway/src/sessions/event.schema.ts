import { RunTable } from '@moli/queue';
import { z } from 'zod';
import { ArtifactRef } from '../artifacts/artifacts.schema.ts';

/**
 * The session log: everything that happens in a session, in order. WebSocket, SSE, REST, export and the context builder are readers of it.
 * `seq` starts at 1 and has no holes. Adjacent deltas may be merged; their joined text is always the same to the byte.
 */
const fileRef = z.object({ id: z.string(), name: z.string(), bytes: z.int(), mimeType: z.string() });

/** One thing that a program showed, in order: text, a table, or a reference to an artifact (image, HTML). */
export const Display = z.object({
  mimeType: z.string(),
  /** Title of a figure or name of a value, when it has one. */
  name: z.string().optional(),
  text: z.string().optional(),
  table: RunTable.optional(),
  artifact: ArtifactRef.optional(),
});

const problem = z.looseObject({
  code: z.string(),
  title: z.string(),
  detail: z.object({ zh: z.string(), en: z.string() }),
});
const usage = z.object({ promptTokens: z.int(), completionTokens: z.int(), steps: z.int() });

/**
 * Data of each event type. `callId` is ours; the model server's own id stays inside the turn.
 *
 * How the events of one turn follow each other:
 * - `message.created` is a person's message. It is appended when the message is accepted, with the turn id that will answer it, also while an
 *   earlier turn still runs: messages may come one after another before their answers do. An answer belongs after the message with its turn id.
 * - `turn.started` begins the answer; its `messageId` names the answer from here on (no `message.created` for answers).
 * - `message.completed` closes the answer, then exactly one of `turn.completed`, `turn.stopped`, `turn.failed`, `turn.interrupted` ends the turn.
 *   Its text is the joined `text.delta`s of that message; a hand edit (`message.edited`) takes the place of all text before it.
 */
export const EVENT_DATA = {
  'message.created': z.object({
    messageId: z.string(),
    role: z.enum(['user', 'assistant']),
    text: z.string(),
    files: z.array(fileRef),
    clientMessageId: z.string().optional(),
    userId: z.string().optional(),
  }),
  'turn.started': z.object({
    model: z.string(),
    reason: z.string(),
    agentId: z.string(),
    scripted: z.boolean().optional(),
    /** The answer (message id) that this turn goes on writing: `messageId` is the same, new text is appended. */
    continues: z.string().optional(),
    /** The answer (message id) that this one takes the place of, when the person sent the question again. It is out of the conversation from here on. */
    replaces: z.string().optional(),
  }),
  'text.delta': z.object({ text: z.string() }),
  'reasoning.delta': z.object({ text: z.string() }),
  'tool.call': z.object({
    callId: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    trigger: z.string(),
  }),
  'run.queued': z.object({ callId: z.string(), runId: z.string(), position: z.int().optional() }),
  'run.started': z.object({
    callId: z.string(),
    runId: z.string(),
    stage: z.enum(['preparing', 'running', 'collecting']),
  }),
  'run.output': z.object({
    callId: z.string(),
    runId: z.string(),
    stream: z.enum(['stdout', 'stderr']),
    text: z.string(),
  }),
  'run.display': z.object({ callId: z.string(), runId: z.string(), display: Display }),
  'tool.result': z.object({
    callId: z.string(),
    name: z.string(),
    ok: z.boolean(),
    durationMs: z.number(),
    runId: z.string().optional(),
    verdict: z.string().optional(),
    /** What the model reads. */
    content: z.string(),
    error: z
      .looseObject({
        code: z.string(),
        message: z.string(),
        line: z.int().optional(),
        traceback: z.string().optional(),
        explanation: z.object({ zh: z.string(), en: z.string() }).optional(),
      })
      .optional(),
    artifacts: z.array(ArtifactRef),
    usage: z.object({ wallMs: z.number(), cpuMs: z.number(), maxMemoryBytes: z.number() }).optional(),
    timings: z.record(z.string(), z.number()).optional(),
  }),
  'message.completed': z.object({
    messageId: z.string(),
    text: z.string(),
    reasoning: z.string().optional(),
    status: z.enum(['completed', 'stopped', 'failed', 'interrupted']),
  }),
  /** A person changed the text of a message by hand; the original stays in the log. */
  'message.edited': z.object({ messageId: z.string(), text: z.string() }),
  'turn.completed': z.object({ usage, durationMs: z.number() }),
  'turn.stopped': z.object({ usage, durationMs: z.number(), by: z.string().optional() }),
  'turn.failed': z.object({ problem, durationMs: z.number() }),
  'turn.interrupted': z.object({ reason: z.string() }),
  'session.updated': z.object({ title: z.string() }),
  'session.deleted': z.object({}),
} as const;

export type EventType = keyof typeof EVENT_DATA;
export type EventData<T extends EventType> = z.infer<(typeof EVENT_DATA)[T]>;

/** One entry of the log as every reader gets it. `messageId` names the assistant message that the turn is writing. */
export type SessionEvent<T extends EventType = EventType> = {
  [K in T]: {
    seq: number;
    sessionId: string;
    turnId?: string;
    messageId?: string;
    type: K;
    /** RFC 3339 UTC. */
    at: string;
    data: EventData<K>;
  };
}[T];
