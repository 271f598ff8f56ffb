import type { ModelCall, ModelMessage } from '../models/provider.types.ts';
import type { SessionEvent } from '../sessions/event.schema.ts';

/**
 * Messages that are sent together or not at all: an answer's text, or words with the calls they lead to and all of their results.
 */
export type Unit = readonly ModelMessage[];

/** A person's message and what was answered to it, step by step. */
export interface Exchange {
  readonly messageId: string;
  readonly question: string;
  readonly units: readonly Unit[];
}

/** Event types that the transcript is made from. */
export const TRANSCRIPT_EVENTS = [
  'message.created',
  'message.edited',
  'turn.started',
  'text.delta',
  'tool.call',
  'tool.result',
] as const satisfies readonly SessionEvent['type'][];

interface Call {
  readonly call: ModelCall;
  result?: string;
}

/** Words of the model, then calls, then their results; the next words begin a new step. */
interface Step {
  text: string;
  readonly calls: Call[];
}

interface Draft {
  readonly messageId: string;
  text: string;
  /** Names of the files that came with the message. */
  readonly files: readonly string[];
  answerId: string | undefined;
  steps: Step[];
}

/** The conversation as its log tells it, in order of the messages' acceptance. Replaced answers are not in it. */
export function exchangesOf(events: Iterable<SessionEvent>): Exchange[] {
  const drafts: Draft[] = [];
  const byTurn = new Map<string, Draft>();
  const byMessage = new Map<string, Draft>();
  for (const event of events) {
    if (event.type === 'message.created') {
      if (event.data.role !== 'user') continue;
      const { messageId, text, files } = event.data;
      const draft: Draft = { messageId, text, files: files.map(({ name }) => name), answerId: undefined, steps: [] };
      drafts.push(draft);
      byTurn.set(event.turnId ?? '', draft);
      byMessage.set(messageId, draft);
    } else if (event.type === 'turn.started') {
      startAnswer(event, byTurn, byMessage);
    } else if (event.type === 'message.edited') {
      editMessage(event.data, byMessage);
    } else {
      const draft = byMessage.get(event.messageId ?? '');
      if (draft && draft.answerId === event.messageId) addToAnswer(draft, event);
    }
  }
  return drafts.map(({ messageId, text, files, steps }) => ({
    messageId,
    question: questionOf(text, files),
    units: steps.flatMap(unitsOf),
  }));
}

/** What the person wrote, and which files came with it; they are described in the system message. */
function questionOf(text: string, files: readonly string[]): string {
  return [text.trim() === '' ? '' : text, files.length > 0 ? `[${files.join(', ')}]` : ''].filter(Boolean).join('\n\n');
}

function startAnswer(
  event: Extract<SessionEvent, { type: 'turn.started' }>,
  byTurn: Map<string, Draft>,
  byMessage: Map<string, Draft>,
): void {
  const { continues, replaces } = event.data;
  const draft = byMessage.get(continues ?? replaces ?? '') ?? byTurn.get(event.turnId ?? '');
  if (!draft || !event.messageId) return;
  if (draft.answerId !== event.messageId) draft.steps = [];
  draft.answerId = event.messageId;
  byMessage.set(event.messageId, draft);
}

function editMessage({ messageId, text }: { messageId: string; text: string }, byMessage: Map<string, Draft>): void {
  const draft = byMessage.get(messageId);
  if (!draft) return;
  if (draft.answerId !== messageId) {
    draft.text = text;
    return;
  }
  // A hand edit is one text: calls stay before it, without the words that led to them.
  draft.steps = [
    ...draft.steps.filter(({ calls }) => calls.length > 0).map(({ calls }) => ({ text: '', calls })),
    { text, calls: [] },
  ];
}

function addToAnswer(draft: Draft, event: SessionEvent): void {
  const last = draft.steps.at(-1);
  if (event.type === 'text.delta') {
    if (last && last.calls.length === 0) last.text += event.data.text;
    else draft.steps.push({ text: event.data.text, calls: [] });
  } else if (event.type === 'tool.call') {
    const { callId, name, arguments: given } = event.data;
    const call: Call = { call: { id: callId, name, arguments: JSON.stringify(given) } };
    // A call after a result is the next step, though the model said nothing in between.
    if (last?.calls.every(({ result }) => result === undefined)) last.calls.push(call);
    else draft.steps.push({ text: '', calls: [call] });
  } else if (event.type === 'tool.result') {
    const call = last?.calls.find((one) => one.call.id === event.data.callId);
    if (call) call.result = event.data.content;
  }
}

/** A step as messages. Calls without a result are left out: a request that holds one is refused by model servers. */
function unitsOf({ text, calls }: Step): Unit[] {
  const answered = calls.filter((call): call is Required<Call> => call.result !== undefined);
  if (answered.length === 0) return text.trim() === '' ? [] : [[{ role: 'assistant', content: text }]];
  return [unitOfCalls(text, answered)];
}

/** Words, the calls they lead to, and the result of each. */
export function unitOfCalls(text: string, calls: readonly { call: ModelCall; result: string }[], reasoning = ''): Unit {
  return [
    { role: 'assistant', content: text, calls: calls.map(({ call }) => call), ...(reasoning ? { reasoning } : {}) },
    ...calls.map(({ call, result }) => ({
      role: 'tool' as const,
      callId: call.id,
      name: call.name,
      content: withoutBase64(result),
    })),
  ];
}

/** Pictures as text help no model and cost thousands of tokens: a run of base64 longer than this is left out. */
const BASE64_RUN = /(?:data:[\w.+-]+\/[\w.+-]+;base64,)?[A-Za-z0-9+/]{200,}={0,2}/g;

export function withoutBase64(text: string): string {
  return text.replaceAll(BASE64_RUN, (run) => `[${run.length} characters of encoded data left out]`);
}
