import { until } from '@moli/testing';
import { expect } from 'vitest';
import type { Answer, TestGateway } from '../gateway.fixture.ts';
import type { RunResult } from './runs.schema.ts';

export interface SentEvent {
  readonly id?: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: data of any event
  readonly data: any;
}

const fieldsOf = (block: string): Record<string, string> =>
  Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );

/** What a program does with the routes of runs. */
export class RunsClient {
  readonly #gateway: TestGateway;
  readonly key: string;

  constructor(gateway: TestGateway, key: string) {
    this.#gateway = gateway;
    this.key = key;
  }

  ask(path: string, method = 'GET', body?: unknown): Promise<Answer> {
    return this.#gateway.ask(path, { key: this.key, method, ...(body === undefined ? {} : { body }) });
  }

  execute(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#gateway.ask('/v1/code/execute', { key: this.key, body, headers });
  }

  /** Starts a run and does not wait. */
  async start(body: Record<string, unknown>): Promise<string> {
    const { status, json } = await this.execute(body, { prefer: 'respond-async' });
    expect(status).toBe(202);
    return json.runId;
  }

  /** The result, once there is one. */
  settled(runId: string): Promise<RunResult> {
    return until(
      async () => {
        const { json } = await this.ask(`/v1/runs/${runId}`);
        return json.state === 'finished' && (json as RunResult);
      },
      { what: 'the run has a verdict', timeoutMs: 30_000 },
    );
  }

  async upload(name: string, content: string, sessionId?: string): Promise<string> {
    const form = new FormData();
    form.append('file', new Blob([content]), name);
    if (sessionId) form.append('sessionId', sessionId);
    const answer = await fetch(`${this.#gateway.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.key}` },
      body: form,
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  }

  async newSession(): Promise<string> {
    return (await this.ask('/v1/sessions', 'POST', {})).json.id;
  }

  /** The events of a run, as they come, until it ends. */
  async *events(runId: string, after?: string): AsyncGenerator<SentEvent> {
    const answer = await fetch(`${this.#gateway.url}/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${this.key}`, ...(after ? { 'last-event-id': after } : {}) },
    });
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const { id, event, data } of blocks.map(fieldsOf)) {
        if (event) yield { ...(id ? { id } : {}), event, data: JSON.parse(data!) };
      }
    }
  }

  /** All events, or those up to and with the first of a kind. */
  async eventsUntil(runId: string, kind?: string, after?: string): Promise<SentEvent[]> {
    const seen: SentEvent[] = [];
    for await (const event of this.events(runId, after)) {
      seen.push(event);
      if (event.event === kind) break;
    }
    return seen;
  }
}
