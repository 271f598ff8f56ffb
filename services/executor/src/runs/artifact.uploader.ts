import { randomBytes } from 'node:crypto';
import type { LinkAnswer, LinksClient, RunArtifact } from '@moli/queue';
import { metrics } from '../metrics.ts';
import type { RunContent } from '../runner/runner.ts';
import { RunFailure } from './run.failure.ts';

/** Uploads of one run at once. */
const PARALLEL = 4;
/** An upload link works once, so a second try asks for new ones. */
const TRIES = 2;

type Link = LinkAnswer['links'][number];

interface Waiting {
  artifact: RunArtifact;
  content: RunContent;
  /** Called in the order of `add`, after the bytes were read back. */
  stored: () => Promise<void>;
}

/**
 * Has what a run made stored while it goes on: whatever came in since the last round is one request for links. An artifact counts once its
 * bytes were read back and are the same.
 */
export class ArtifactUploader {
  readonly #deps: { links: LinksClient; holds: () => Promise<boolean> };
  readonly #run: { runId: string; tenantId: string };
  #queue: Waiting[] = [];
  #working: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(run: { runId: string; tenantId: string }, deps: { links: LinksClient; holds: () => Promise<boolean> }) {
    this.#run = run;
    this.#deps = deps;
  }

  static newId(): string {
    return `art_${randomBytes(16).toString('hex')}`;
  }

  add(artifact: RunArtifact, content: RunContent, stored: () => Promise<void>): void {
    this.#queue.push({ artifact, content, stored });
    // The next turn of the loop: artifacts that arrive together share one request.
    this.#working ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#work());
  }

  /** Settles when everything added is stored; throws RunFailure `upload_failed` when something could not be. */
  async settled(): Promise<void> {
    while (this.#working) await this.#working;
    if (this.#failure) throw this.#failure;
  }

  /** Gives back what was never uploaded. */
  async discard(): Promise<void> {
    const rest = this.#queue.splice(0);
    await this.#working;
    await Promise.all(rest.map(({ content }) => content.drop()));
  }

  async #work(): Promise<void> {
    try {
      while (this.#queue.length > 0) await this.#round(this.#queue.splice(0));
    } catch (error) {
      this.#failure ??= error;
    } finally {
      this.#working = null;
    }
  }

  async #round(batch: Waiting[]): Promise<void> {
    try {
      if (!this.#failure) await this.#upload(batch);
      if (!this.#failure) for (const { stored } of batch) await stored();
    } finally {
      await Promise.all(batch.map(({ content }) => content.drop()));
    }
  }

  async #upload(batch: Waiting[]): Promise<void> {
    if (!(await this.#deps.holds())) throw new RunFailure('executor_lost', 'the run belongs to somebody else by now');
    let left = batch;
    for (let tries = 1; left.length > 0; tries++) {
      const failed: Waiting[] = [];
      let cause: unknown;
      try {
        const { links } = await this.#deps.links.request({
          ...this.#run,
          artifacts: left.map(({ artifact }) => artifact),
        });
        const byId = new Map(links.map((link) => [link.artifactId, link]));
        await inParallel(left, async (waiting) => {
          try {
            await this.#store(waiting, byId.get(waiting.artifact.id));
          } catch (error) {
            cause = error;
            failed.push(waiting);
          }
        });
      } catch (error) {
        cause = error;
        failed.push(...left);
      }
      if (failed.length > 0 && tries === TRIES) {
        throw new RunFailure(
          'upload_failed',
          `artifacts could not be stored: ${cause instanceof Error ? cause.message : 'unknown'}`,
        );
      }
      left = failed;
    }
  }

  async #store({ artifact, content }: Waiting, link: Link | undefined): Promise<void> {
    if (!link) throw new Error('no link was given');
    await content.store(link);
    metrics.artifactBytes.inc(artifact.bytes);
  }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, lane));
}
