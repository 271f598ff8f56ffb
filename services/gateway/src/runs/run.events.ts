import type { RunOutcome } from '@moli/queue';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FROM_START, type StreamedEntry } from './run.streams.ts';
import type { RunResult } from './runs.schema.ts';

/** Proxies cut connections that are silent for 60 s. */
const COMMENT_MS = 15_000;
/** A reader that takes nothing for this long is dropped; it comes back with `Last-Event-ID`. */
const STALLED_MS = 30_000;

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

/** Opens the event stream; hijacked replies skip Fastify's own sending. Answers a signal that fires when the reader leaves. */
function open(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  reply.raw.write('retry: 1000\n\n');
  return gone.signal;
}

/** Sends the events of a finished run whose live stream has expired. */
export function sendFinished(reply: FastifyReply, result: RunResult): void {
  open(reply);
  reply.raw.end(eventsOf(result));
}

/** Sends entries until the result or until the reader leaves; more are taken only when the connection has taken the last ones. */
export async function sendEntries(
  reply: FastifyReply,
  entries: (signal: AbortSignal) => AsyncIterable<StreamedEntry[]>,
  finish: (outcome: RunOutcome) => Promise<RunResult>,
): Promise<void> {
  const { raw } = reply;
  const signal = open(reply);
  const comments = setInterval(() => raw.write(': still here\n\n'), COMMENT_MS);
  try {
    for await (const batch of entries(signal)) {
      let text = '';
      for (const streamed of batch) text += await eventOf(streamed, finish);
      if (!raw.write(text)) await drained(reply, signal);
      if (signal.aborted) return;
    }
  } finally {
    clearInterval(comments);
    raw.end();
  }
}

async function drained({ raw }: FastifyReply, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => raw.destroy(), STALLED_MS);
  raw.once('drain', resolve);
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  raw.off('drain', resolve);
}
