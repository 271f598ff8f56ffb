import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EventLine } from './session-events.ts';

/** Proxies cut connections that are silent for 60 s. */
const COMMENT_MILLISECONDS = 15_000;
/** A reader that takes nothing for this long is dropped; it comes back with `Last-Event-ID`. */
const STALLED_MILLISECONDS = 30_000;

/** A stream ends after this long; its reader comes back with `Last-Event-ID` and shows its credentials again, which may have been revoked. */
const MAX_STREAM_MILLISECONDS = 15 * 60_000;

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

/**
 * Sends lines as server-sent events until they end or the reader leaves. The next lines are fetched only when the connection has taken the last
 * ones, so a slow reader costs no memory.
 */
export async function streamEvents(
  reply: FastifyReply,
  open: (signal: AbortSignal) => AsyncIterable<readonly EventLine[]>,
): Promise<void> {
  const { raw } = reply;
  const gone = new AbortController();
  raw.on('close', () => gone.abort());
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 1000\n\n');
  const lifetime = setTimeout(() => gone.abort(), MAX_STREAM_MILLISECONDS);
  const comments = setInterval(() => raw.write(': still here\n\n'), COMMENT_MILLISECONDS);
  try {
    for await (const lines of open(gone.signal)) {
      const text = lines.map(({ seq, json }) => `id: ${seq}\ndata: ${json}\n\n`).join('');
      if (!raw.write(text)) await drained(raw, gone);
      if (gone.signal.aborted) break;
    }
  } finally {
    clearInterval(comments);
    clearTimeout(lifetime);
    raw.end();
  }
}

function drained(raw: FastifyReply['raw'], gone: AbortController): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      raw.off('drain', done);
      gone.signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(() => raw.destroy(), STALLED_MILLISECONDS);
    raw.once('drain', done);
    gone.signal.addEventListener('abort', done);
  });
}
