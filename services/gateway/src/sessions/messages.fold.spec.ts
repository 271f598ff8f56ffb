import { expect, test } from 'vitest';
import type { SessionEvent } from './event.schema.ts';
import { foldMessages } from './messages.fold.ts';
import { exportDisposition, exportJson, exportMarkdown } from './session-export.ts';
import type { Session } from './sessions.schema.ts';

/** A log from short lines: type, turn, answer or message, data. */
function logOf(...lines: [SessionEvent['type'], string, string, object][]): SessionEvent[] {
  return lines.map(
    ([type, turnId, messageId, data], i) =>
      ({ seq: i + 1, sessionId: 's', turnId, messageId, type, at: '2026-01-01T00:00:00.000Z', data }) as SessionEvent,
  );
}
const asked = (turn: string, id: string, text: string): [SessionEvent['type'], string, string, object] => [
  'message.created',
  turn,
  id,
  { messageId: id, role: 'user', text, files: [] },
];
const started = (turn: string, id: string, data: object = {}): [SessionEvent['type'], string, string, object] => [
  'turn.started',
  turn,
  id,
  { model: 'm', reason: 'fixed', agentId: 'a', ...data },
];
const said = (turn: string, id: string, text: string): [SessionEvent['type'], string, string, object] => [
  'text.delta',
  turn,
  id,
  { text },
];
const ended = (
  turn: string,
  id: string,
  text: string,
  status = 'completed',
): [SessionEvent['type'], string, string, object] => ['message.completed', turn, id, { messageId: id, text, status }];
const texts = (events: SessionEvent[]) => foldMessages(events).map(({ text }) => text);

test('an answer stands after its question though the next question came first', () => {
  const events = logOf(
    asked('t1', 'q1', 'one'),
    started('t1', 'a1'),
    asked('t2', 'q2', 'two'),
    said('t1', 'a1', 'eins'),
    ended('t1', 'a1', 'eins'),
    started('t2', 'a2'),
    said('t2', 'a2', 'zwei'),
  );
  expect(texts(events)).toEqual(['one', 'eins', 'two', 'zwei']);
  expect(foldMessages(events).map(({ status }) => status)).toEqual([
    'completed',
    'completed',
    'completed',
    'streaming',
  ]);
});

test('a continued answer is one message, an edited one keeps the edit, a replaced one is gone', () => {
  const first = [
    asked('t1', 'q1', 'one'),
    started('t1', 'a1'),
    said('t1', 'a1', 'half'),
    ended('t1', 'a1', 'half', 'stopped'),
  ];
  const more = [started('t2', 'a1', { continues: 'a1' }), said('t2', 'a1', ' whole'), ended('t2', 'a1', 'half whole')];
  expect(texts(logOf(...first, ...more))).toEqual(['one', 'half whole']);
  const edit: [SessionEvent['type'], string, string, object] = [
    'message.edited',
    't1',
    'a1',
    { messageId: 'a1', text: 'by hand' },
  ];
  expect(texts(logOf(...first, edit))).toEqual(['one', 'by hand']);
  const again = [started('t3', 'a3', { replaces: 'a1' }), said('t3', 'a3', 'new')];
  expect(texts(logOf(...first, asked('t9', 'q9', 'later'), ...again))).toEqual(['one', 'new', 'later']);
});

const SESSION: Session = {
  id: `ses_${'0'.repeat(32)}`,
  title: '销售/趋势 "Q1"',
  agentId: 'a',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  lastSeq: 0,
  running: false,
};
const WITH_RUN = logOf(
  asked('t', 'q', 'draw'),
  started('t', 'a'),
  ['tool.call', 't', 'a', { callId: 'c', name: 'run_python', arguments: { code: 'print("```")' }, trigger: '' }],
  ['run.output', 't', 'a', { callId: 'c', runId: 'r', stream: 'stdout', text: '```\n' }],
  [
    'tool.result',
    't',
    'a',
    {
      callId: 'c',
      name: 'run_python',
      ok: true,
      durationMs: 5,
      runId: 'r',
      verdict: 'ok',
      content: '',
      artifacts: [{ id: 'x', name: '趋势_图.png', mimeType: 'image/png', bytes: 1, sha256: 's' }],
    },
  ],
  said('t', 'a', 'See the chart.'),
  ended('t', 'a', 'See the chart.'),
);

test('a tool call holds what its run said, and is closed with its answer', () => {
  const [, answer] = foldMessages(WITH_RUN);
  expect(answer?.tools[0]).toMatchObject({
    state: 'done',
    ok: true,
    stdout: '```\n',
    verdict: 'ok',
    artifacts: [{ name: '趋势_图.png' }],
  });
  const open = foldMessages(WITH_RUN.filter(({ type }) => type !== 'tool.result'));
  expect(open[1]?.tools[0]).toMatchObject({ state: 'done', ok: false });
});

test('Markdown cannot be broken by what is in it; JSON holds every event', () => {
  const text = exportMarkdown(SESSION, WITH_RUN, 'zh');
  expect(text).toContain('## 用户');
  expect(text).toContain('````python\nprint("```")\n````');
  expect(text).toContain('趋势\\_图.png');
  const document = exportJson(SESSION, WITH_RUN, new Date(0));
  expect(JSON.parse(JSON.stringify(document)).events).toEqual(WITH_RUN);
  expect(exportDisposition(SESSION, 'md')).toMatch(/^attachment; filename="ses_0+\.md"; filename\*=UTF-8''[\w%.!~-]+$/);
});
