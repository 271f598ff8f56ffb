import { LOCALES } from '@moli/errors';
import { z } from 'zod';
import { ArtifactRef } from '../artifacts/artifacts.schema.ts';
import { isId } from '../ids.ts';
import { Display } from './event.schema.ts';

export const SessionId = z.string().refine((id) => isId('ses', id), { error: 'not a session id' });
export const MessageId = z.string().refine((id) => isId('msg', id), { error: 'not a message id' });
const AgentId = z.string().refine((id) => isId('agt', id), { error: 'not an agent id' });
const FileId = z.string().refine((id) => isId('file', id), { error: 'not a file id' });

/** Longest message in characters; about 100 pages. What does not fit into the model's window is told when its turn starts. */
const MAX_MESSAGE_CHARACTERS = 200_000;
const MAX_TITLE_CHARACTERS = 200;
const title = z.string().trim().min(1).max(MAX_TITLE_CHARACTERS);

export const Session = z
  .object({
    id: SessionId,
    title: z.string(),
    agentId: AgentId,
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    /** The newest entry of the session's log; 0 when it is empty. */
    lastSeq: z.int(),
    /** A turn runs now or waits to. */
    running: z.boolean(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof Session>;

export const SessionPage = z
  .object({ items: z.array(Session), nextCursor: z.string().nullable() })
  .meta({ id: 'SessionPage' });

export const NewSession = z
  .strictObject({ agentId: AgentId.optional(), title: title.optional() })
  .meta({ id: 'NewSession' });
export const SessionChange = z
  .strictObject({ title: title.optional(), agentId: AgentId.optional() })
  .refine((change) => change.title !== undefined || change.agentId !== undefined, { error: 'nothing to change' })
  .meta({ id: 'SessionChange' });

/** Links that cannot carry a header name the tenant in the query; the authentication reads it. */
const tenant = z.string().max(100).optional();

/** Search looks into titles and the text of messages. */
export const SessionQuery = z.strictObject({
  q: z.string().trim().max(200).optional(),
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(30),
  tenant,
});

const locale = z.enum(LOCALES);

export const NewMessage = z
  .strictObject({
    text: z.string().max(MAX_MESSAGE_CHARACTERS),
    fileIds: z.array(FileId).max(50).default([]),
    /** Made by the sender; the same one again answers the same and starts nothing. */
    clientMessageId: z.string().min(1).max(128).optional(),
    /** Language of what the server itself says in this turn. Default: that of the request. */
    locale: locale.optional(),
  })
  .refine((message) => message.text.trim() !== '' || message.fileIds.length > 0, {
    error: 'a message needs text or a file',
    path: ['text'],
  })
  .meta({ id: 'NewMessage' });
export type NewMessage = z.infer<typeof NewMessage>;

export const Accepted = z.object({ messageId: MessageId, turnId: z.string(), seq: z.int() }).meta({ id: 'Accepted' });
export type Accepted = z.infer<typeof Accepted>;

export const MessageChange = z
  .strictObject({ text: z.string().max(MAX_MESSAGE_CHARACTERS) })
  .meta({ id: 'MessageChange' });
export const Resend = z
  .strictObject({ text: z.string().trim().min(1).max(MAX_MESSAGE_CHARACTERS).optional() })
  .meta({ id: 'Resend' });
export const Nothing = z.strictObject({}).optional();

export const EventQuery = z.strictObject({
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  limit: z.coerce.number().int().min(1).max(1000).default(500),
  tenant,
});
export const ExportQuery = z.strictObject({ format: z.enum(['md', 'json']).default('md'), tenant });

const ToolView = z.object({
  callId: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  trigger: z.string(),
  state: z.enum(['queued', 'preparing', 'running', 'collecting', 'done']),
  ok: z.boolean().optional(),
  durationMs: z.number().optional(),
  runId: z.string().optional(),
  verdict: z.string().optional(),
  content: z.string().optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  artifacts: z.array(ArtifactRef),
  displays: z.array(Display),
  stdout: z.string(),
  stderr: z.string(),
  usage: z.object({ wallMs: z.number(), cpuMs: z.number(), maxMemoryBytes: z.number() }).optional(),
  timings: z.record(z.string(), z.number()).optional(),
});
export type ToolView = z.infer<typeof ToolView>;

/** A message as it stands: the fold of its events. */
export const Message = z
  .object({
    id: MessageId,
    role: z.enum(['user', 'assistant']),
    text: z.string(),
    reasoning: z.string().optional(),
    status: z.enum(['streaming', 'completed', 'stopped', 'failed', 'interrupted']),
    edited: z.boolean().optional(),
    files: z.array(z.object({ id: z.string(), name: z.string(), bytes: z.int(), mimeType: z.string() })),
    turnId: z.string(),
    createdAt: z.iso.datetime(),
    tools: z.array(ToolView),
    problem: z
      .looseObject({ code: z.string(), title: z.string(), detail: z.object({ zh: z.string(), en: z.string() }) })
      .optional(),
  })
  .meta({ id: 'Message' });
export type Message = z.infer<typeof Message>;
export const MessageList = z.object({ items: z.array(Message), lastSeq: z.int() }).meta({ id: 'MessageList' });
