export { FAILURES, type Failure, failedOutcome, type PartialOutcome } from './failure.ts';
export * from './keys.ts';
export { LINKS_QUEUE, type LinksClient, openLinksClient, openLinksWorker } from './links.queue.ts';
export {
  type Admission,
  type Claim,
  EXECUTOR_SILENT_MS,
  ExecutorReport,
  executorOf,
  type OpenRun,
  ownerMark,
  RunLog,
  STREAM_LENGTH,
} from './run.log.ts';
export {
  openRunsQueue,
  openRunsWorker,
  type QueueTelemetry,
  RUNS_QUEUE,
  type RunReceipt,
  type RunsQueue,
  type RunsWorker,
} from './runs.queue.ts';
export * from './runs.schema.ts';
