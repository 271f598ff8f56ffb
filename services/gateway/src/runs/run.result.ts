import { buffer } from 'node:stream/consumers';
import type { ObjectStore } from '@moli/objects';
import type { RunArtifact, RunOutcome, Verdict } from '@moli/queue';
import { artifactKey } from '../artifacts/artifacts.store.ts';
import type { RunResult, RunType } from './runs.schema.ts';

const LINK_SECONDS = 3_600;
/** Images up to this size come inside the answer. */
const BASE64_BYTES = 256 * 1024;

const TYPE_OF: Readonly<Record<Verdict, RunType>> = {
  ok: 'ok',
  user_error: 'error',
  signalled: 'error',
  timeout_wall: 'timeout',
  timeout_cpu: 'timeout',
  memory_limit: 'memory',
  pids_limit: 'limit',
  disk_limit: 'limit',
  output_limit: 'limit',
  cancelled: 'cancelled',
  queue_rejected: 'rejected',
  platform_error: 'platform',
};

/** The coarse word of a verdict. */
export function typeOf(verdict: Verdict): RunType {
  return TYPE_OF[verdict];
}

/** The outcome as the API gives it: coarse type, links, small images inside. */
export async function toResult(objects: ObjectStore, tenantId: string, outcome: RunOutcome): Promise<RunResult> {
  const { runId, verdict, artifacts, ...rest } = outcome;
  return {
    runId,
    state: 'finished',
    success: verdict === 'ok',
    verdict,
    type: typeOf(verdict),
    ...rest,
    artifacts: await Promise.all(artifacts.map((artifact) => linked(objects, tenantId, runId, artifact))),
  };
}

async function linked(
  objects: ObjectStore,
  tenantId: string,
  runId: string,
  { shown: _, ...artifact }: RunArtifact,
): Promise<RunResult['artifacts'][number]> {
  const key = artifactKey(tenantId, runId, artifact.id);
  const { url } = await objects.signGet(key, {
    expiresInSeconds: LINK_SECONDS,
    downloadName: artifact.name,
    contentType: artifact.mimeType,
  });
  const inside = artifact.mimeType.startsWith('image/') && artifact.bytes <= BASE64_BYTES;
  return { ...artifact, url, ...(inside ? { base64: await contentOf(objects, key) } : {}) };
}

async function contentOf(objects: ObjectStore, key: string): Promise<string> {
  const { stream } = await objects.get(key);
  return (await buffer(stream)).toString('base64');
}
