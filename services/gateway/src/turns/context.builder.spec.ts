import { describe, expect, test } from 'vitest';
import type { ModelMessage, ModelTool, TokenMeasure } from '../models/provider.types.ts';
import type { SessionEvent } from '../sessions/event.schema.ts';
import { buildContext } from './context.builder.ts';
import { exchangesOf, withoutBase64 } from './transcript.ts';

/** A small deterministic generator (mulberry32): a failure names the seed that shows it. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Counts as a tokenizer would: some tokens a message, one for every four characters or part of them. */
const cost = (message: ModelMessage): number =>
  4 + Math.ceil(message.content.length / 4) + (message.role === 'assistant' ? (message.calls?.length ?? 0) * 9 : 0);
async function measure(messages: readonly ModelMessage[], tools: readonly ModelTool[]): Promise<TokenMeasure> {
  const each = messages.map(cost);
  const toolTokens = tools.length * 50;
  return {
    kind: 'exact',
    messages: each,
    tools: toolTokens,
    base: 3,
    tokens: each.reduce((a, b) => a + b, 3) + toolTokens,
  };
}

/** What a strict model server refuses. */
function faultOf(messages: readonly ModelMessage[]): string | undefined {
  if (messages[0]?.role !== 'system') return 'no system message first';
  if (messages[1]?.role !== 'user') return 'does not begin with a person';
  let open = new Set<string>();
  for (const [i, message] of messages.entries()) {
    if (i > 0 && message.role === 'system') return `system message at ${i}`;
    if (message.role === 'tool') {
      if (!open.delete(message.callId)) return `result without call at ${i}`;
      continue;
    }
    if (open.size > 0) return `call without result before ${i}`;
    if (message.role !== 'assistant') continue;
    const calls = message.calls ?? [];
    if (calls.length === 0 && message.content.trim() === '') return `empty answer at ${i}`;
    if (new Set(calls.map(({ id }) => id)).size !== calls.length) return `call id twice at ${i}`;
    open = new Set(calls.map(({ id }) => id));
    for (const call of calls) JSON.parse(call.arguments);
  }
  return open.size > 0 ? 'call without result at the end' : undefined;
}

/** A random log: turns cut at any place, calls without results, queued messages, edits, answers continued or replaced. */
function randomLog(next: () => number): SessionEvent[] {
  const events: SessionEvent[] = [];
  let count = 0;
  const id = (): string => `i${++count}`;
  const add = (type: SessionEvent['type'], turnId: string, messageId: string, data: object): void => {
    events.push({ seq: events.length + 1, sessionId: 's', turnId, messageId, type, at: '', data } as SessionEvent);
  };
  const words = (): string => '字'.repeat(Math.floor(next() * 200));
  const waiting: { turnId: string; messageId: string }[] = [];
  const ask = (): void => {
    const turnId = id();
    const messageId = id();
    add('message.created', turnId, messageId, { messageId, role: 'user', text: `q${words()}`, files: [] });
    waiting.push({ turnId, messageId });
  };
  const answer = (turnId: string, messageId: string): void => {
    const steps = Math.floor(next() * 4);
    for (let step = 0; step <= steps; step += 1) {
      while (next() < 0.5) add('text.delta', turnId, messageId, { text: words() });
      if (next() < 0.15) ask();
      const calls = Array.from({ length: Math.floor(next() * 3) }, id);
      const together = next() < 0.5;
      const call = (callId: string) =>
        add('tool.call', turnId, messageId, { callId, name: 'run_python', arguments: { code: words() }, trigger: '' });
      const result = (callId: string) =>
        next() < 0.9 &&
        add('tool.result', turnId, messageId, {
          callId,
          name: 'run_python',
          ok: true,
          durationMs: 1,
          content: words(),
          artifacts: [],
        });
      if (together) calls.forEach(call);
      for (const callId of calls) {
        if (!together) call(callId);
        result(callId);
      }
      if (next() < 0.2) return;
    }
  };
  const turns = 1 + Math.floor(next() * 8);
  for (let turn = 0; turn < turns; turn += 1) {
    if (waiting.length === 0) ask();
    const { turnId, messageId } = waiting.shift() as { turnId: string; messageId: string };
    let answerId = id();
    add('turn.started', turnId, answerId, { model: 'm', reason: 'fixed', agentId: 'a' });
    answer(turnId, answerId);
    if (next() < 0.2) {
      const again = id();
      add('turn.started', again, answerId, { model: 'm', reason: 'fixed', agentId: 'a', continues: answerId });
      answer(again, answerId);
    }
    if (next() < 0.2) {
      const again = id();
      const other = id();
      if (next() < 0.5) add('message.edited', again, messageId, { messageId, text: `edited${words()}` });
      add('turn.started', again, other, { model: 'm', reason: 'fixed', agentId: 'a', replaces: answerId });
      answerId = other;
      answer(again, answerId);
    }
    if (next() < 0.1) add('message.edited', turnId, answerId, { messageId: answerId, text: words() });
  }
  if (waiting.length === 0) ask();
  return events;
}

const TOOLS: ModelTool[] = [{ name: 'run_python', description: '', parameters: {} }];

describe('context', () => {
  test('20,000 random sessions at random budgets: never an invalid history, never over the budget, nothing left out without need', async () => {
    const faults: string[] = [];
    let refused = 0;
    let shortened = 0;
    for (let seed = 0; seed < 20_000; seed += 1) {
      const check = (what: string | undefined): void => void (what && faults.push(`seed ${seed}: ${what}`));
      const next = random(seed);
      const all = exchangesOf(randomLog(next));
      const position = Math.floor(next() * all.length);
      const current = all[position] as (typeof all)[number];
      const goOn = next() < 0.2 && current.units.length > 0 ? 'Go on.' : undefined;
      const parts = { system: 's'.repeat(80), history: all.slice(0, position), current, goOn, tools: TOOLS };
      const everything = await buildContext({ ...parts, budgetTokens: Number.MAX_SAFE_INTEGER }, { measure });
      check(faultOf(everything.messages));
      if (everything.leftOut > 0) check('left out without need');
      const budgetTokens = Math.ceil(everything.tokens * (0.1 + next()));
      const context = await buildContext({ ...parts, budgetTokens }, { measure }).catch((error: { code: string }) => {
        if (error.code !== 'context_overflow') throw error;
        refused += 1;
        return undefined;
      });
      if (!context) continue;
      if (context.leftOut > 0) shortened += 1;
      check(faultOf(context.messages));
      if (context.tokens > budgetTokens) check('over the budget');
      if (context.tokens !== (await measure(context.messages, TOOLS)).tokens) check('miscounted');
      if (budgetTokens >= everything.tokens && context.leftOut > 0) check('left out though it fits');
      if (!context.messages.some(({ role, content }) => role === 'user' && content === current.question))
        check('question lost');
    }
    expect(faults).toEqual([]);
    // The test would say nothing if no budget were tight.
    expect(shortened).toBeGreaterThan(2_000);
    expect(refused).toBeGreaterThan(200);
  }, 60_000);

  test('one token less leaves out exactly the oldest unit', async () => {
    const exchange = (n: number) => ({
      messageId: `t${n}`,
      question: `q${n}`,
      units: [[{ role: 'assistant' as const, content: `a${n}` }]],
    });
    const parts = {
      system: 's',
      history: [exchange(1), exchange(2)],
      current: { messageId: 't3', question: 'q3', units: [] },
      goOn: undefined,
      tools: [],
    };
    const { tokens } = await buildContext({ ...parts, budgetTokens: 1e9 }, { measure });
    const exact = await buildContext({ ...parts, budgetTokens: tokens }, { measure });
    const less = await buildContext({ ...parts, budgetTokens: tokens - 1 }, { measure });
    const contents = (messages: readonly ModelMessage[]) => messages.map(({ content }) => content);
    expect(contents(exact.messages)).toEqual(['s', 'q1', 'a1', 'q2', 'a2', 'q3']);
    expect(contents(less.messages)).toEqual(['s', 'q2', 'a2', 'q3']);
  });

  test('a question that does not fit by itself is refused with a sentence', async () => {
    const current = { messageId: 't', question: '字'.repeat(4_000), units: [] };
    await expect(
      buildContext({ system: 's', history: [], current, goOn: undefined, tools: [], budgetTokens: 500 }, { measure }),
    ).rejects.toMatchObject({ code: 'context_overflow', fields: { limit: 500 } });
  });

  test('pictures written as text do not reach the model', () => {
    const picture = Buffer.alloc(600, 7).toString('base64');
    const text = withoutBase64(`before data:image/png;base64,${picture} after`);
    expect(text).toMatch(/^before \[\d+ characters of encoded data left out\] after$/);
    expect(withoutBase64('total 15150 元')).toBe('total 15150 元');
  });
});
