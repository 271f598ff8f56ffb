import type { RunOutcome } from '@moli/queue';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SseStream } from '../web/sse-stream.ts';
import { FROM_START, type StreamedEntry } from './run.streams.ts';
import type { RunResult } from './runs.schema.ts';

/** Where a reader goes on: an id of the run's stream. */
export function resumeAfter(request: FastifyRequest): string {
  const header = request.headers['last-event-id'];
  return typeof header === 'string' && /^\d{1,15}-\d{1,10}$/.test(header) ? header : FROM_START;
}

const line = (event: string, data: unknown, id?: string): string =>
  `${id ? `id: ${id}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** One entry as a server-sent event: `stage`, `stdout`, `stderr`, `display` or `result`. */
async function eventOf(
  { id, entry }: StreamedEntry,
  finish: (outcome: RunOutcome) => Promise<RunResult>,
): Promise<string> {
  switch (entry.type) {
    case 'stage':
      return line('stage', { stage: entry.stage }, id);
    case 'output':
      return line(entry.stream, { text: entry.text }, id);
    case 'display':
      return line('display', { ...entry.display, ...(entry.artifact ? { artifact: entry.artifact } : {}) }, id);
    case 'result':
      return line('result', await finish(entry.outcome), id);
  }
}

/** A finished run whose stream is gone, as the events it would have sent. */
export function eventsOf(result: RunResult): string {
  const artifacts = new Map(result.artifacts.map(({ base64: _, ...artifact }) => [artifact.id, artifact]));
  return [
    ...(result.stdout ? [line('stdout', { text: result.stdout })] : []),
    ...(result.stderr ? [line('stderr', { text: result.stderr })] : []),
    ...result.display.map((display) => {
      const artifact = display.artifactId ? artifacts.get(display.artifactId) : undefined;
      return line('display', { ...display, ...(artifact ? { artifact } : {}) });
    }),
    line('result', result),
  ].join('');
}

/** Sends the events of a finished run whose live stream has expired. */
export async function sendFinished(reply: FastifyReply, away: AbortSignal, result: RunResult): Promise<void> {
  const stream = new SseStream(reply, away);
  await stream.send(eventsOf(result));
  stream.end();
}

/** Sends entries until the result, until the reader leaves, or has to come back; `away` fires for the last. */
export async function sendEntries(
  reply: FastifyReply,
  away: AbortSignal,
  entries: (signal: AbortSignal) => AsyncIterable<StreamedEntry[]>,
  finish: (outcome: RunOutcome) => Promise<RunResult>,
): Promise<void> {
  const stream = new SseStream(reply, away);
  try {
    for await (const batch of entries(stream.over)) {
      let text = '';
      for (const streamed of batch) text += await eventOf(streamed, finish);
      await stream.send(text);
      if (stream.over.aborted) return;
    }
  } finally {
    stream.end();
  }
}
