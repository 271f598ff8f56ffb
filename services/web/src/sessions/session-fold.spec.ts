import { describe, expect, it } from 'vitest';
import type { EventData, EventType, SessionEvent } from '../api/events.ts';
import { emptySession, fold, runningTurn, type SessionState, textOf } from './session-fold.ts';

const usage = { promptTokens: 10, completionTokens: 5, steps: 1 };

/** A log writer: each call is the next event. */
function logOf() {
  const events: SessionEvent[] = [];
  return {
    events,
    add<T extends EventType>(type: T, data: EventData[T], ids: { turnId?: string; messageId?: string } = {}) {
      const seq = events.length + 1;
      events.push({ seq, sessionId: 's', type, at: new Date(seq * 1000).toISOString(), data, ...ids } as SessionEvent);
    },
  };
}

function mainScene() {
  const log = logOf();
  const ids = { turnId: 't1', messageId: 'a1' };
  const run = { callId: 'c1', runId: 'r1' };
  log.add(
    'message.created',
    { messageId: 'u1', role: 'user', text: '画图', files: [], clientMessageId: 'x' },
    { turnId: 't1' },
  );
  log.add('turn.started', { model: 'm', reason: 'fixed', agentId: 'g' }, ids);
  log.add('reasoning.delta', { text: '想一想' }, ids);
  for (const text of ['我', '先', '读取']) log.add('text.delta', { text }, ids);
  log.add('tool.call', { callId: 'c1', name: 'run_python', arguments: { code: '1' }, trigger: '' }, ids);
  log.add('run.queued', run, ids);
  log.add('run.started', { ...run, stage: 'running' }, ids);
  for (const text of ['a', 'b\n']) log.add('run.output', { ...run, stream: 'stdout', text }, ids);
  log.add('run.output', { ...run, stream: 'stderr', text: 'warn' }, ids);
  log.add('run.display', { ...run, display: { mimeType: 'text/plain', text: '42' } }, ids);
  log.add(
    'tool.result',
    {
      callId: 'c1',
      name: 'run_python',
      ok: true,
      durationMs: 4,
      runId: 'r1',
      verdict: 'ok',
      content: '',
      artifacts: [],
    },
    ids,
  );
  for (const text of ['完', '成']) log.add('text.delta', { text }, ids);
  log.add('message.completed', { messageId: 'a1', text: '我先读取完成', status: 'completed' }, ids);
  log.add('turn.completed', { usage, durationMs: 9 }, ids);
  return log.events;
}

function foldAll(events: readonly SessionEvent[]): SessionState {
  const state = emptySession();
  for (const event of events) fold(state, event);
  return state;
}

const snapshot = (state: SessionState) =>
  JSON.stringify([state.order, [...state.messages], [...state.turns], state.lastSeq]);

describe('fold', () => {
  it('puts words, thoughts and runs of an answer in the order in which they came', () => {
    const answer = foldAll(mainScene()).messages.get('a1')!;
    expect(answer.parts.map((part) => part.kind)).toEqual(['reasoning', 'text', 'tool', 'text']);
    expect(textOf(answer)).toBe('我先读取完成');
    expect(answer.status).toBe('completed');
    const call = answer.tools.c1!;
    expect(call).toMatchObject({ state: 'done', ok: true, stdout: 'ab\n', stderr: 'warn', runId: 'r1', durationMs: 4 });
    expect(call.displays).toHaveLength(1);
  });

  it('walks a run through its stages', () => {
    const state = emptySession();
    const seen: string[] = [];
    for (const event of mainScene()) {
      fold(state, event);
      const call = state.messages.get('a1')?.tools.c1;
      if (call && seen.at(-1) !== call.state) seen.push(call.state);
    }
    expect(seen).toEqual(['queued', 'running', 'done']);
    expect(runningTurn(state)).toBeUndefined();
  });

  it('takes duplicates without a change and refuses what comes too early', () => {
    const events = mainScene();
    const state = emptySession();
    expect(fold(state, events[1]!)).toBe('gap');
    for (const event of events.slice(0, 8)) expect(fold(state, event)).toBe('applied');
    const before = snapshot(state);
    for (const event of events.slice(0, 8)) expect(fold(state, event)).toBe('duplicate');
    expect(fold(state, events[10]!)).toBe('gap');
    expect(snapshot(state)).toBe(before);
    // The reader asks again from its last number and gets an overlap.
    for (const event of events.slice(5)) fold(state, event);
    expect(snapshot(state)).toBe(snapshot(foldAll(events)));
  });

  it('gives the same text however deltas were merged', () => {
    const split = logOf();
    const merged = logOf();
    const ids = { turnId: 't', messageId: 'a' };
    for (const log of [split, merged]) log.add('turn.started', { model: 'm', reason: '', agentId: 'g' }, ids);
    for (const text of ['**粗', '体**', '\n\n', '- 项']) split.add('text.delta', { text }, ids);
    merged.add('text.delta', { text: '**粗体**\n\n- 项' }, ids);
    expect(textOf(foldAll(split.events).messages.get('a')!)).toBe(textOf(foldAll(merged.events).messages.get('a')!));
  });

  it('makes new objects only for what changed', () => {
    const events = mainScene();
    const state = emptySession();
    for (const event of events.slice(0, 5)) fold(state, event);
    const question = state.messages.get('u1');
    const answer = state.messages.get('a1');
    fold(state, events[5]!);
    expect(state.messages.get('u1')).toBe(question);
    expect(state.messages.get('a1')).not.toBe(answer);
  });

  it.each([
    ['turn.stopped', { usage, durationMs: 1 }, 'stopped'],
    ['turn.interrupted', { reason: 'lease' }, 'interrupted'],
    ['turn.failed', { durationMs: 1, problem: { code: 'x', title: 'x', detail: { zh: '错', en: 'bad' } } }, 'failed'],
  ] as const)('%s leaves no answer streaming and no run open', (type, data, status) => {
    const log = logOf();
    const ids = { turnId: 't', messageId: 'a' };
    log.add('turn.started', { model: 'm', reason: '', agentId: 'g' }, ids);
    log.add('text.delta', { text: '部分' }, ids);
    log.add('tool.call', { callId: 'c', name: 'run_python', arguments: {}, trigger: '' }, ids);
    log.add(type, data as never, { turnId: 't' });
    const state = foldAll(log.events);
    const answer = state.messages.get('a')!;
    expect(answer.status).toBe(status);
    expect(textOf(answer)).toBe('部分');
    expect(answer.tools.c).toMatchObject({ state: 'done', ok: false, abandoned: true });
  });

  it('goes on with a stopped answer in the same message', () => {
    const log = logOf();
    log.add('turn.started', { model: 'm', reason: '', agentId: 'g' }, { turnId: 't1', messageId: 'a' });
    log.add('text.delta', { text: '前半' }, { turnId: 't1', messageId: 'a' });
    log.add('message.completed', { messageId: 'a', text: '前半', status: 'stopped' }, { turnId: 't1', messageId: 'a' });
    log.add('turn.stopped', { usage, durationMs: 1 }, { turnId: 't1' });
    log.add('turn.started', { model: 'm', reason: '', agentId: 'g', continues: 'a' }, { turnId: 't2', messageId: 'a' });
    log.add('text.delta', { text: '后半' }, { turnId: 't2', messageId: 'a' });
    const state = foldAll(log.events);
    expect(state.order).toEqual(['a']);
    expect(state.messages.get('a')).toMatchObject({ status: 'streaming', turnId: 't2' });
    expect(textOf(state.messages.get('a')!)).toBe('前半后半');
  });

  it('sets answers after their own questions, and a new answer in the place of the old one', () => {
    const log = logOf();
    log.add('message.created', { messageId: 'u1', role: 'user', text: '1', files: [] }, { turnId: 't1' });
    log.add('turn.started', { model: 'm', reason: '', agentId: 'g' }, { turnId: 't1', messageId: 'a1' });
    log.add('message.created', { messageId: 'u2', role: 'user', text: '2', files: [] }, { turnId: 't2' });
    log.add('message.created', { messageId: 'u3', role: 'user', text: '3', files: [] }, { turnId: 't3' });
    log.add('turn.completed', { usage, durationMs: 1 }, { turnId: 't1', messageId: 'a1' });
    log.add('turn.started', { model: 'm', reason: '', agentId: 'g' }, { turnId: 't2', messageId: 'a2' });
    log.add('turn.completed', { usage, durationMs: 1 }, { turnId: 't2', messageId: 'a2' });
    log.add(
      'turn.started',
      { model: 'm', reason: '', agentId: 'g', replaces: 'a1' },
      { turnId: 't4', messageId: 'a4' },
    );
    expect(foldAll(log.events).order).toEqual(['u1', 'a4', 'u2', 'a2', 'u3']);
  });

  it('takes a hand edit for the text, and passes over events it does not know', () => {
    const log = logOf();
    log.add('message.created', { messageId: 'u', role: 'user', text: '原文', files: [] });
    log.add('message.edited', { messageId: 'u', text: '改过' });
    log.add('later.invention' as EventType, {} as never);
    log.add('session.updated', { title: '标题' });
    const state = foldAll(log.events);
    expect(textOf(state.messages.get('u')!)).toBe('改过');
    expect(state.title).toBe('标题');
    expect(state.lastSeq).toBe(4);
  });
});
