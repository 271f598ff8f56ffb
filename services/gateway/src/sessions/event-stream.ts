import type { FastifyReply, FastifyRequest } from 'fastify';
import { SseStream } from '../web/sse-stream.ts';
import type { EventLine } from './session-events.ts';

/** The place a reader of server-sent events goes on from: `Last-Event-ID` wins over `?after=`. */
export function resumeAfter(request: FastifyRequest, after: number): number {
  const header = request.headers['last-event-id'];
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : after;
}

/** Whether the reader asks for a page of JSON and not for a stream. */
export function wantsPage(request: FastifyRequest): boolean {
  const accept = request.headers.accept ?? '';
  return accept.includes('application/json') && !accept.includes('text/event-stream');
}

/** Sends lines as server-sent events until they end, the reader leaves, or has to come back; `away` fires for the last. */
export async function streamEvents(
  reply: FastifyReply,
  away: AbortSignal,
  open: (signal: AbortSignal) => AsyncIterable<readonly EventLine[]>,
): Promise<void> {
  const stream = new SseStream(reply, away);
  try {
    for await (const lines of open(stream.over)) {
      await stream.send(lines.map(({ seq, json }) => `id: ${seq}\ndata: ${json}\n\n`).join(''));
      if (stream.over.aborted) break;
    }
  } finally {
    stream.end();
  }
}
