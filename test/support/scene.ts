import { type ModelServer, mainScene, type Script, startModelServer } from '@moli/scripted-model';
import type { ApiClient, SessionEvent } from '../../infra/launcher/demo/client.ts';
import { salesCsv } from '../../infra/launcher/demo/sales-data.ts';
import { Stack } from './stack.ts';

export { mainScene, salesCsv };

/** The model server that the shared stack is configured for, with a script of the test's own. */
export function playModel(script: Script, stack = Stack.shared()): Promise<ModelServer> {
  return startModelServer({ script, port: stack.place.modelPort, apiKey: 'test-key', models: ['scripted-test'] });
}

export async function newSession(api: ApiClient): Promise<string> {
  return (await api.call<{ id: string }>('POST', '/v1/sessions', {})).id;
}

export interface Accepted {
  readonly messageId: string;
  readonly turnId: string;
  readonly seq: number;
}

export function send(api: ApiClient, sessionId: string, text: string, extra: object = {}): Promise<Accepted> {
  return api.call<Accepted>('POST', `/v1/sessions/${sessionId}/messages`, { text, locale: 'en', ...extra });
}

const ENDS = ['turn.completed', 'turn.failed', 'turn.stopped', 'turn.interrupted'];

/** Follows a session until `enough` says so; by default to the end of the next turn that ends after `after`. Answers what came. */
export async function collect(
  api: ApiClient,
  sessionId: string,
  { after = 0, enough = (event: SessionEvent) => ENDS.includes(event.type), timeoutMs = 60_000 } = {},
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of api.events(sessionId, AbortSignal.timeout(timeoutMs), after)) {
    events.push(event);
    if (enough(event)) break;
  }
  return events;
}

export function ofType(events: readonly SessionEvent[], type: string): SessionEvent[] {
  return events.filter((event) => event.type === type);
}

/** The streamed words of a turn, joined. */
export function wordsOf(events: readonly SessionEvent[], turnId?: string): string {
  return ofType(events, 'text.delta')
    .filter((event) => turnId === undefined || event.turnId === turnId)
    .map((event) => event.data.text)
    .join('');
}

/** A script whose answer is one program, then one sentence. */
export function runsProgram(code: string, sentence = 'Done.'): Script {
  return [
    { tool: true, reply: { steps: [{ text: sentence }] } },
    { reply: { steps: [{ call: { name: 'run_python', arguments: { code } } }] } },
  ];
}

/** A script that streams so many words, one every `delayMs`. */
export function longAnswer(words: number, delayMs: number): Script {
  const text = Array.from({ length: words }, (_, n) => `word${n} `).join('');
  return [{ reply: { steps: [{ text, piece: 7, delayMs }] } }];
}
