import type { EventData, EventType, FileRef, SessionEvent, TurnProblem, TurnUsage } from '../api/events.ts';
import type { ArtifactRef, Display, RunError } from '../api/types.ts';

export type ToolState = 'queued' | 'preparing' | 'running' | 'collecting' | 'done';
export type MessageStatus = 'streaming' | 'completed' | 'stopped' | 'failed' | 'interrupted';

/** One tool call and, for code, its run. Times are milliseconds since the epoch, from the events. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly trigger: string;
  readonly state: ToolState;
  readonly startedAt: number;
  /** When the present state began. */
  readonly stateAt: number;
  readonly runId?: string;
  readonly position?: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly displays: readonly Display[];
  readonly artifacts: readonly ArtifactRef[];
  readonly ok?: boolean;
  readonly durationMs?: number;
  readonly verdict?: string;
  readonly content?: string;
  readonly error?: RunError;
  readonly usage?: EventData['tool.result']['usage'];
  readonly timings?: Record<string, number>;
  /** The turn ended before a result came. */
  readonly abandoned?: boolean;
}

/** What a message is made of, in order. A tool is named here and kept in `tools`. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string; readonly startedAt: number; readonly endedAt: number }
  | { readonly kind: 'tool'; readonly callId: string };

export interface Message {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly Part[];
  readonly tools: Readonly<Record<string, ToolCall>>;
  readonly files: readonly FileRef[];
  readonly status: MessageStatus;
  readonly createdAt: string;
  readonly turnId?: string;
  readonly clientMessageId?: string;
  readonly edited?: boolean;
}

export interface Turn {
  readonly id: string;
  readonly messageId?: string;
  readonly agentId: string;
  readonly model: string;
  readonly reason: string;
  readonly scripted: boolean;
  readonly startedAt: number;
  readonly state: 'running' | 'completed' | 'stopped' | 'failed' | 'interrupted';
  readonly usage?: TurnUsage;
  readonly durationMs?: number;
  readonly problem?: TurnProblem;
}

/**
 * The session as its log tells it. Objects inside are never changed in place: a changed message is a new object,
 * so that a list draws only what changed. The maps themselves are reused.
 */
export interface SessionState {
  lastSeq: number;
  title: string | null;
  deleted: boolean;
  order: string[];
  messages: Map<string, Message>;
  turns: Map<string, Turn>;
}

export function emptySession(): SessionState {
  return { lastSeq: 0, title: null, deleted: false, order: [], messages: new Map(), turns: new Map() };
}

export type FoldResult = 'applied' | 'duplicate' | 'gap';

/**
 * Takes the next event of the log into the state. An event that is already in is skipped; one that comes too early is
 * refused ('gap'): the caller asks for what is missing by `lastSeq`.
 */
export function fold(state: SessionState, event: SessionEvent): FoldResult {
  if (event.seq <= state.lastSeq) return 'duplicate';
  if (event.seq > state.lastSeq + 1) return 'gap';
  state.lastSeq = event.seq;
  const handle = handlers[event.type] as Handler<EventType> | undefined;
  // An event of a newer gateway that this page does not know is counted and passed over.
  handle?.(state, event, event.data as EventData[EventType]);
  return 'applied';
}

type Handler<T extends EventType> = (state: SessionState, event: SessionEvent, data: EventData[T]) => void;

const handlers: { readonly [T in EventType]: Handler<T> } = {
  'message.created': createMessage,
  'turn.started': startTurn,
  'text.delta': (state, event, data) => {
    change(state, event, (message) => ({ ...message, parts: appendText(message.parts, data.text) }));
  },
  'reasoning.delta': (state, event, data) => {
    change(state, event, (message) => ({ ...message, parts: appendReasoning(message.parts, data.text, at(event)) }));
  },
  'tool.call': (state, event, data) => {
    change(state, event, (message) => addTool(message, data, at(event)));
  },
  'run.queued': (state, event, { callId, runId, position }) => {
    changeTool(state, event, callId, (call) => ({ ...call, ...entered(call, 'queued', event), runId, position }));
  },
  'run.started': (state, event, { callId, runId, stage }) => {
    changeTool(state, event, callId, (call) => ({ ...call, ...entered(call, stage, event), runId }));
  },
  'run.output': (state, event, { callId, stream, text }) => {
    changeTool(state, event, callId, (call) => ({ ...call, [stream]: call[stream] + text }));
  },
  'run.display': (state, event, { callId, display }) => {
    changeTool(state, event, callId, (call) => ({ ...call, displays: [...call.displays, display] }));
  },
  'tool.result': (state, event, data) => {
    changeTool(state, event, data.callId, (call) => finishTool(call, data));
  },
  'message.completed': completeMessage,
  'message.edited': (state, event, { messageId, text }) => {
    change(state, { messageId, at: event.at }, (message) => ({
      ...message,
      edited: true,
      parts: [...message.parts.filter((part) => part.kind !== 'text'), { kind: 'text', text }],
    }));
  },
  'turn.completed': (state, event, data) => endTurn(state, event, { state: 'completed', ...data }),
  'turn.stopped': (state, event, { usage, durationMs }) =>
    endTurn(state, event, { state: 'stopped', usage, durationMs }),
  'turn.failed': (state, event, data) => endTurn(state, event, { state: 'failed', ...data }),
  'turn.interrupted': (state, event) => endTurn(state, event, { state: 'interrupted' }),
  'session.updated': (state, _event, { title }) => {
    state.title = title;
  },
  'session.deleted': (state) => {
    state.deleted = true;
  },
};

const at = (event: { at: string }) => Date.parse(event.at);

/** A state that is told again goes on. */
const entered = (call: ToolCall, state: ToolState, event: SessionEvent) => ({
  state,
  stateAt: call.state === state ? call.stateAt : at(event),
});

function createMessage(state: SessionState, event: SessionEvent, data: EventData['message.created']): void {
  const parts: Part[] = data.text ? [{ kind: 'text', text: data.text }] : [];
  put(state, {
    id: data.messageId,
    role: data.role,
    parts,
    tools: {},
    files: data.files,
    status: data.role === 'assistant' ? 'streaming' : 'completed',
    createdAt: event.at,
    turnId: event.turnId,
    clientMessageId: data.clientMessageId,
  });
}

function put(state: SessionState, message: Message): void {
  if (!state.messages.has(message.id)) state.order.push(message.id);
  state.messages.set(message.id, message);
}

/** Changes the message that an event writes to; a first delta may come before anything created the message. */
function change(
  state: SessionState,
  event: { messageId?: string; turnId?: string; at: string },
  update: (message: Message) => Message,
): void {
  const id = event.messageId;
  if (!id) return;
  const known = state.messages.get(id) ?? newAnswer(id, event);
  put(state, update(known));
}

function appendText(parts: readonly Part[], text: string): Part[] {
  const last = parts.at(-1);
  if (last?.kind === 'text') return [...parts.slice(0, -1), { kind: 'text', text: last.text + text }];
  return [...parts, { kind: 'text', text }];
}

function appendReasoning(parts: readonly Part[], text: string, time: number): Part[] {
  const last = parts.at(-1);
  if (last?.kind === 'reasoning') {
    return [...parts.slice(0, -1), { ...last, text: last.text + text, endedAt: time }];
  }
  return [...parts, { kind: 'reasoning', text, startedAt: time, endedAt: time }];
}

function addTool(message: Message, data: EventData['tool.call'], time: number): Message {
  const call: ToolCall = {
    ...data,
    state: 'queued',
    startedAt: time,
    stateAt: time,
    stdout: '',
    stderr: '',
    displays: [],
    artifacts: [],
  };
  return {
    ...message,
    parts: message.tools[data.callId] ? message.parts : [...message.parts, { kind: 'tool', callId: data.callId }],
    tools: { ...message.tools, [data.callId]: call },
  };
}

function changeTool(
  state: SessionState,
  event: SessionEvent,
  callId: string,
  update: (call: ToolCall) => ToolCall,
): void {
  change(state, event, (message) => {
    const call = message.tools[callId];
    if (!call) return message;
    return { ...message, tools: { ...message.tools, [call.callId]: update(call) } };
  });
}

function finishTool(call: ToolCall, data: EventData['tool.result']): ToolCall {
  const { ok, durationMs, verdict, content, error, artifacts, usage, timings } = data;
  return {
    ...call,
    state: 'done',
    runId: data.runId ?? call.runId,
    ok,
    durationMs,
    verdict,
    content,
    error,
    artifacts,
    usage,
    timings,
  };
}

/** The final text decides. Where the deltas already say the same, the parts keep their places between the tool calls. */
function completeMessage(state: SessionState, event: SessionEvent, data: EventData['message.completed']): void {
  change(state, { ...event, messageId: data.messageId }, (message) => {
    const joined = textOf(message);
    const same = joined === data.text || squash(joined) === squash(data.text);
    const parts: Part[] = same
      ? [...message.parts]
      : [...message.parts.filter((part) => part.kind !== 'text'), { kind: 'text', text: data.text }];
    return { ...abandonTools(message), parts, status: data.status };
  });
}

const squash = (text: string) => text.replace(/\s+/g, '');

/** A turn begins its answer, or goes on with one; the answer stands after the message that it answers. */
function startTurn(state: SessionState, event: SessionEvent, data: EventData['turn.started']): void {
  const { turnId, messageId } = event;
  if (!turnId) return;
  state.turns.set(turnId, {
    id: turnId,
    messageId,
    agentId: data.agentId,
    model: data.model,
    reason: data.reason,
    scripted: data.scripted ?? false,
    startedAt: at(event),
    state: 'running',
  });
  if (!messageId) return;
  const known = state.messages.get(messageId);
  if (known) {
    state.messages.set(messageId, { ...known, status: 'streaming', turnId });
    return;
  }
  place(state, { messageId, turnId, replaces: data.replaces });
  state.messages.set(messageId, newAnswer(messageId, event));
}

function newAnswer(id: string, event: { turnId?: string; at: string }): Message {
  return {
    id,
    role: 'assistant',
    parts: [],
    tools: {},
    files: [],
    status: 'streaming',
    createdAt: event.at,
    turnId: event.turnId,
  };
}

/** Messages may be accepted one after another before their answers come: an answer goes after the message of its own turn. */
function place(state: SessionState, answer: { messageId: string; turnId: string; replaces?: string }): void {
  const replaced = answer.replaces ? state.order.indexOf(answer.replaces) : -1;
  if (replaced >= 0) {
    state.order[replaced] = answer.messageId;
    return;
  }
  const question = state.order.findLastIndex((id) => state.messages.get(id)?.turnId === answer.turnId);
  state.order.splice(question < 0 ? state.order.length : question + 1, 0, answer.messageId);
}

type TurnEnd = Pick<Turn, 'state'> & Partial<Pick<Turn, 'usage' | 'durationMs' | 'problem'>>;

function endTurn(state: SessionState, event: SessionEvent, end: TurnEnd): void {
  const turn = event.turnId ? state.turns.get(event.turnId) : undefined;
  if (!turn) return;
  const messageId = turn.messageId ?? event.messageId ?? messageOfTurn(state, turn.id);
  state.turns.set(turn.id, { ...turn, messageId, durationMs: at(event) - turn.startedAt, ...end });
  const message = messageId ? state.messages.get(messageId) : undefined;
  if (!message) return;
  // An answer never stays "streaming" after its turn, even when it got no closing event of its own.
  const status = end.state === 'completed' || end.state === 'running' ? 'completed' : end.state;
  state.messages.set(message.id, { ...abandonTools(message), status });
}

export function messageOfTurn(state: SessionState, turnId: string): string | undefined {
  return state.order.findLast((id) => {
    const message = state.messages.get(id);
    return message?.role === 'assistant' && message.turnId === turnId;
  });
}

/** Calls without a result when their turn is over will not get one. */
function abandonTools(message: Message): Message {
  const open = Object.values(message.tools).filter((call) => call.state !== 'done');
  if (open.length === 0) return message;
  const closed = open.map((call) => [call.callId, { ...call, state: 'done' as const, ok: false, abandoned: true }]);
  return { ...message, tools: { ...message.tools, ...Object.fromEntries(closed) } };
}

/** The words of a message without its tool calls. */
export function textOf(message: Message): string {
  return message.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** The turn that runs now, if any. A queued message waits for it. */
export function runningTurn(state: SessionState): Turn | undefined {
  for (const turn of [...state.turns.values()].reverse()) if (turn.state === 'running') return turn;
  return undefined;
}
