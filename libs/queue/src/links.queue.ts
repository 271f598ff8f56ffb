import { type Job, Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq';
import { BullMQOtel } from 'bullmq-otel';
import type { Redis } from 'ioredis';
import type { QueueTelemetry } from './runs.queue.ts';
import { LinkAnswer, LinkRequest } from './runs.schema.ts';

/** Requests of executors for upload links, answered by any gateway. */
export const LINKS_QUEUE = 'links';
/** A request that no gateway answered in this time fails the run's collection. */
const ANSWER_TIMEOUT_MS = 10_000;

export interface LinksClient {
  request(request: LinkRequest): Promise<LinkAnswer>;
  close(): Promise<void>;
}

/** The executor's side. `events` is a second connection that reads answers. */
export function openLinksClient(connection: Redis, { traces }: QueueTelemetry): LinksClient {
  const queue = new Queue<LinkRequest, LinkAnswer, 'link'>(LINKS_QUEUE, {
    connection,
    ...(traces ? { telemetry: new BullMQOtel({ tracerName: 'moli' }) } : {}),
    // Signed links are in the answer: gone a few seconds later.
    defaultJobOptions: { attempts: 1, removeOnComplete: { age: 5 }, removeOnFail: { age: 60 } },
    streams: { events: { maxLen: 1_000 } },
  });
  const listening = connection.duplicate();
  // It comes back by itself; the commands' connection tells when Redis is away.
  listening.on('error', () => {});
  const events = new QueueEvents(LINKS_QUEUE, { connection: listening });
  queue.on('error', () => {});
  events.on('error', () => {});
  return {
    async request(request) {
      await events.waitUntilReady();
      const job = await queue.add('link', LinkRequest.parse(request));
      return LinkAnswer.parse(await job.waitUntilFinished(events, ANSWER_TIMEOUT_MS));
    },
    async close() {
      await Promise.all([queue.close(), events.close()]);
      listening.disconnect();
    },
  };
}

/** The gateway's side. A request that is refused fails for good. */
export function openLinksWorker(
  connection: Redis,
  answer: (request: LinkRequest) => Promise<LinkAnswer>,
  { traces }: QueueTelemetry,
): Worker<LinkRequest, LinkAnswer, 'link'> {
  const process = async (job: Job<LinkRequest, LinkAnswer, 'link'>): Promise<LinkAnswer> => {
    const request = LinkRequest.safeParse(job.data);
    if (!request.success) throw new UnrecoverableError('malformed request');
    return answer(request.data);
  };
  return new Worker(LINKS_QUEUE, process, {
    connection,
    concurrency: 16,
    autorun: false,
    lockDuration: 10_000,
    stalledInterval: 5_000,
    ...(traces ? { telemetry: new BullMQOtel({ tracerName: 'moli' }) } : {}),
  });
}
