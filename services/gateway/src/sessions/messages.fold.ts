import type { EventType, SessionEvent } from './event.schema.ts';
import type { Message, ToolView } from './sessions.schema.ts';

type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;

/** What the fold carries from event to event. Messages are changed in place and handed out at the end. */
interface FoldState {
  readonly messages: Map<string, Message>;
  /** Answers that were taken out of the conversation. */
  readonly replaced: Set<string>;
  /** The answer that each turn writes. */
  readonly answers: Map<string, string>;
}

/**
 * The messages of a session as its log tells them: each answer after the message that it belongs to, though the next message may have been accepted
 * before the answer came.
 */
export function foldMessages(events: Iterable<SessionEvent>): Message[] {
  const state: FoldState = { messages: new Map(), replaced: new Set(), answers: new Map() };
  for (const event of events) apply(state, event);
  return inOrder([...state.messages.values()].filter((message) => !state.replaced.has(message.id)));
}

function inOrder(messages: readonly Message[]): Message[] {
  const turns = new Map<string, Message[]>();
  for (const message of messages) {
    const turn = turns.get(message.turnId);
    if (turn) turn.push(message);
    else turns.set(message.turnId, [message]);
  }
  return [...turns.values()].flat();
}

function apply(state: FoldState, event: SessionEvent): void {
  switch (event.type) {
    case 'message.created':
      state.messages.set(event.data.messageId, personsMessage(event));
      return;
    case 'turn.started':
      startAnswer(state, event);
      return;
    case 'message.edited': {
      const message = state.messages.get(event.data.messageId);
      if (message) Object.assign(message, { text: event.data.text, edited: true });
      return;
    }
    case 'message.completed': {
      const message = state.messages.get(event.data.messageId);
      if (!message) return;
      closeTools(message);
      message.text = event.data.text;
      message.status = event.data.status;
      if (event.data.reasoning) message.reasoning = event.data.reasoning;
      return;
    }
    case 'turn.failed': {
      const message = answerOf(state, event);
      if (message) Object.assign(message, { status: 'failed', problem: event.data.problem });
      return;
    }
    default: {
      const message = answerOf(state, event);
      if (message) applyToAnswer(message, event);
    }
  }
}

const answerOf = (state: FoldState, event: SessionEvent): Message | undefined =>
  state.messages.get(event.messageId ?? state.answers.get(event.turnId ?? '') ?? '');

function applyToAnswer(message: Message, event: SessionEvent): void {
  switch (event.type) {
    case 'text.delta':
      message.text += event.data.text;
      return;
    case 'reasoning.delta':
      message.reasoning = (message.reasoning ?? '') + event.data.text;
      return;
    case 'tool.call':
      message.tools.push({ ...event.data, state: 'queued', artifacts: [], displays: [], stdout: '', stderr: '' });
      return;
    case 'run.queued':
    case 'run.started':
    case 'run.output':
    case 'run.display':
    case 'tool.result': {
      const tool = message.tools.find((one) => one.callId === event.data.callId);
      if (tool) applyToTool(tool, event);
    }
  }
}

type ToolEvent =
  | EventOf<'run.queued'>
  | EventOf<'run.started'>
  | EventOf<'run.output'>
  | EventOf<'run.display'>
  | EventOf<'tool.result'>;

function applyToTool(tool: ToolView, event: ToolEvent): void {
  switch (event.type) {
    case 'run.queued':
      Object.assign(tool, { state: 'queued', runId: event.data.runId });
      return;
    case 'run.started':
      Object.assign(tool, { state: event.data.stage, runId: event.data.runId });
      return;
    case 'run.output':
      tool[event.data.stream] += event.data.text;
      return;
    case 'run.display':
      tool.displays.push(event.data.display);
      return;
    case 'tool.result':
      Object.assign(tool, event.data, { state: 'done' });
  }
}

function personsMessage({ data, turnId, at }: EventOf<'message.created'>): Message {
  return {
    id: data.messageId,
    role: data.role,
    text: data.text,
    status: 'completed',
    files: data.files,
    turnId: turnId ?? '',
    createdAt: at,
    tools: [],
  };
}

function startAnswer(state: FoldState, event: EventOf<'turn.started'>): void {
  const { messageId, turnId = '', data, at } = event;
  if (!messageId) return;
  state.answers.set(turnId, messageId);
  const known = state.messages.get(messageId);
  if (known) {
    known.status = 'streaming';
    known.problem = undefined;
    return;
  }
  const replaced = data.replaces === undefined ? undefined : state.messages.get(data.replaces);
  if (replaced) state.replaced.add(replaced.id);
  state.messages.set(messageId, {
    id: messageId,
    role: 'assistant',
    text: '',
    status: 'streaming',
    files: [],
    // A question sent again keeps its place: the new answer belongs where the old one stood.
    turnId: replaced?.turnId ?? turnId,
    createdAt: at,
    tools: [],
  });
}

/** Calls without a result when their answer is over will not get one. */
function closeTools(message: Message): void {
  for (const tool of message.tools) {
    if (tool.state === 'done') continue;
    tool.state = 'done';
    tool.ok = false;
  }
}
