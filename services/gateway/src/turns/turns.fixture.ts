import { type ModelServer, type Script, startModelServer } from '@moli/scripted-model';
import { until } from '@moli/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from '../app.ts';
import type { GatewayConfig } from '../config.ts';
import { type Answer, type AskOptions, startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import type { SessionEvent } from '../sessions/event.schema.ts';

/** A whole gateway whose model answers from a script. */
export interface TurnWorld {
  readonly gateway: TestGateway;
  readonly model: ModelServer;
  readonly key: string;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  newSession(): Promise<string>;
  send(sessionId: string, text: string, more?: Record<string, unknown>): Promise<Answer>;
  /** The log as it stands. */
  events(sessionId: string): Promise<SessionEvent[]>;
  /** Follows the log over HTTP until an event satisfies `last`. */
  follow(sessionId: string, last: (event: SessionEvent) => boolean, options?: FollowOptions): Promise<SessionEvent[]>;
  /** Resolves when nothing runs or waits in the session. */
  idle(sessionId: string): Promise<void>;
  /** Sends a message and reads to the end of its turn. */
  turn(sessionId: string, text: string, after?: number): Promise<SessionEvent[]>;
  /** Another gateway on the same database and Redis, and its address. */
  second(config?: Partial<GatewayConfig>): Promise<{ app: NestFastifyApplication; url: string }>;
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly after?: number;
  readonly url?: string;
  readonly signal?: AbortSignal;
}

const TURN_ENDS = new Set(['turn.completed', 'turn.stopped', 'turn.failed', 'turn.interrupted']);
export const isTurnEnd = (event: SessionEvent): boolean => TURN_ENDS.has(event.type);

export const textOf = (events: readonly SessionEvent[], messageId?: string): string =>
  events
    .filter((event) => event.type === 'text.delta' && (messageId === undefined || event.messageId === messageId))
    .map((event) => (event.type === 'text.delta' ? event.data.text : ''))
    .join('');

export const numbers = (events: readonly SessionEvent[]): number[] => events.map(({ seq }) => seq);

/** 1, 2, … count. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

export const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type);

export async function turnWorld(script: Script, env: Record<string, string> = {}): Promise<TurnWorld> {
  const model = await startModelServer({ script });
  const gateway = await startTestGateway({
    MOLI_MODEL_BASE_URL: model.url,
    MOLI_MODEL_API_KEY: 'test',
    MOLI_MODEL_NAME: 'scripted-demo',
    ...env,
  });
  const key = (await gateway.newTenant('Turns')).keys.owner;
  const more: NestFastifyApplication[] = [];
  const ask = (path: string, options: AskOptions = {}): Promise<Answer> => gateway.ask(path, { key, ...options });
  const follow: TurnWorld['follow'] = async (sessionId, last, { after = 0, url = gateway.url, signal } = {}) => {
    const leave = new AbortController();
    const response = await fetch(`${url}/v1/sessions/${sessionId}/events?after=${after}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: signal ? AbortSignal.any([signal, leave.signal]) : leave.signal,
    });
    const all: SessionEvent[] = [];
    try {
      for await (const event of sseEvents(response)) {
        all.push(event);
        if (last(event)) break;
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      leave.abort();
    }
    return all;
  };
  return {
    gateway,
    model,
    key,
    ask,
    follow,
    newSession: async () => (await ask('/v1/sessions', { body: {} })).json.id as string,
    send: (sessionId, text, fields = {}) => ask(`/v1/sessions/${sessionId}/messages`, { body: { text, ...fields } }),
    events: async (sessionId) => {
      const headers = { accept: 'application/json' };
      return (await ask(`/v1/sessions/${sessionId}/events?limit=1000`, { headers })).json.items as SessionEvent[];
    },
    idle: async (sessionId) => {
      const running = async () => (await ask(`/v1/sessions/${sessionId}`)).json.running;
      await until(async () => !(await running()), { what: 'the session is idle' });
    },
    turn: async (sessionId, text, after = 0) => {
      const { status, json } = await ask(`/v1/sessions/${sessionId}/messages`, { body: { text } });
      if (status !== 202) throw new Error(`the message was answered ${status}`);
      return follow(sessionId, (event) => isTurnEnd(event) && event.turnId === json.turnId, { after });
    },
    second: async (config = {}) => {
      const { app } = await createApp({ ...gateway.config, ...config });
      await app.listen({ port: 0, host: '127.0.0.1' });
      more.push(app);
      return { app, url: await app.getUrl() };
    },
    close: async () => {
      for (const app of more) await app.close().catch(() => {});
      await gateway.close();
      await model.stop();
    },
  };
}

async function* sseEvents(response: Response): AsyncGenerator<SessionEvent> {
  const decoder = new TextDecoder();
  let buffer = '';
  for await (const piece of response.body ?? []) {
    buffer += decoder.decode(piece as Uint8Array, { stream: true });
    const blocks = buffer.split('\n\n');
    buffer = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data) yield JSON.parse(data) as SessionEvent;
    }
  }
}
