import { ProbeOutcome, type ProbeResult } from '@moli/rpc';
import type { LinkClient } from '../runner/slot/link.client.ts';

/** The object store is the one thing besides the executor that a courier may reach: it must be there, and closed to whoever has no link. */
export async function probeObjects(url: string, links: LinkClient): Promise<ProbeResult> {
  const result = (outcome: ProbeOutcome, detail: string): ProbeResult => ({
    kind: 'objects',
    target: new URL(url).host,
    outcome,
    detail,
  });
  try {
    const status = await links.status(url);
    if (status >= 500) return result(ProbeOutcome.FAILED, `the object store answers ${status}`);
    return status >= 400
      ? result(ProbeOutcome.BLOCKED, `refused with ${status}`)
      : result(ProbeOutcome.REACHED, `a request without a link was answered with ${status}`);
  } catch (error) {
    return result(ProbeOutcome.FAILED, `the object store does not answer (${(error as Error).message})`);
  }
}
