import { beforeEach, expect, test } from 'vitest';
import { LogWriter } from './log-writer.ts';
import type { PendingEvent } from './pending-event.ts';

const ids = { turnId: 't', messageId: 'm' };
const out = { callId: 'c', runId: 'r', stream: 'stdout' as const };
const texts = (events: readonly PendingEvent[]): unknown[] => events.map(({ data }) => data.text);

let wakes: boolean[];
let writer: LogWriter;
beforeEach(() => {
  wakes = [];
  const held = { tenantId: 'ten', sessionId: 'ses', fence: '1', lastSeq: 0 };
  writer = new LogWriter({ wake: (_, now) => wakes.push(now) }, held);
  writer.beginAnswer();
});

test('pieces of one text are one event until it is handed over, and only those', () => {
  writer.piece('text.delta', 'a', ids);
  writer.piece('text.delta', 'b', ids);
  writer.piece('reasoning.delta', 'c', ids);
  writer.piece('text.delta', 'd', ids);
  writer.output({ ...out, text: 'e' }, ids);
  writer.output({ ...out, text: 'f' }, ids);
  writer.output({ ...out, stream: 'stderr', text: 'g' }, ids);
  writer.output({ ...out, callId: 'c2', text: 'h' }, ids);
  writer.output({ ...out, callId: 'c2', text: 'i' }, ids);
  const events = writer.take();
  expect(texts(events)).toEqual(['ab', 'c', 'd', 'ef', 'g', 'hi']);
  expect(events[3]).toMatchObject({ type: 'run.output', turnId: 't', messageId: 'm', data: out });
  writer.output({ ...out, callId: 'c2', text: 'j' }, ids);
  expect(texts(events)).toEqual(['ab', 'c', 'd', 'ef', 'g', 'hi']);
  expect(texts(writer.take())).toEqual(['j']);
});

test('events that say things are never joined, and part the text', () => {
  const stage = { callId: 'c', runId: 'r', stage: 'running' } as const;
  writer.piece('text.delta', 'a', ids);
  writer.append('run.started', stage, ids);
  writer.append('run.started', stage, ids);
  writer.piece('text.delta', 'b', ids);
  expect(writer.take().map(({ type }) => type)).toEqual(['text.delta', 'run.started', 'run.started', 'text.delta']);
});

test('a flood becomes events of a bounded size with the same text', () => {
  for (let i = 0; i < 5_000; i += 1) writer.output({ ...out, text: 'x'.repeat(100) }, ids);
  const flood = texts(writer.take()) as string[];
  expect(Math.max(...flood.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
  expect(flood.join('')).toHaveLength(500_000);
});

test('the answer is what was handed over and what waits, once its text is ended', () => {
  writer.beginAnswer('before ', 'thought ');
  writer.piece('reasoning.delta', 'more', ids);
  writer.piece('text.delta', 'a', ids);
  writer.take();
  writer.piece('text.delta', 'b\ud83d', ids);
  writer.endText();
  expect(writer.answer).toEqual({ text: 'before ab\ufffd', reasoning: 'thought more' });
});

test('the first piece of a text does not wait for the next flush, nor does anything that is no piece', () => {
  writer.piece('text.delta', 'a', ids);
  writer.piece('text.delta', 'b', ids);
  writer.take();
  writer.piece('text.delta', 'c', ids);
  writer.append('turn.interrupted', { reason: 'test' }, ids);
  writer.piece('text.delta', 'd', ids);
  expect(wakes).toEqual([true, false, true, true]);
});

test('what was appended is settled when all that it became is stored', async () => {
  const order: string[] = [];
  writer.piece('text.delta', 'a', ids);
  writer.piece('text.delta', 'b', ids);
  const settled = writer.settled().then(() => order.push('settled'));
  const taken = writer.take();
  writer.piece('text.delta', 'c', ids);
  order.push('stored');
  writer.stored(taken.length, 1);
  await settled;
  expect(order).toEqual(['stored', 'settled']);
  expect(writer.lastSeq).toBe(1);
});
