import { createHash, randomBytes } from 'node:crypto';
import type { LinkAnswer, LinksClient, RunArtifact } from '@moli/queue';
import { type Dispatcher, request } from 'undici';
import { metrics } from '../metrics.ts';
import { RunFailure } from './inputs.ts';
import type { HeldBody } from './outbox.ts';

/** Uploads of one run at once. */
const PARALLEL = 4;
/** An upload link works once, so a second try asks for new ones. */
const TRIES = 2;

type Link = LinkAnswer['links'][number];

interface Waiting {
  artifact: RunArtifact;
  body: HeldBody;
  /** Called in the order of `add`, after the bytes were read back. */
  stored: () => Promise<void>;
}

/**
 * Uploads what a run made while it goes on: whatever came in since the last round is one request for links. An artifact counts once its bytes
 * were read back and are the same.
 */
export class ArtifactUploader {
  readonly #deps: { links: LinksClient; dispatcher: Dispatcher; holds: () => Promise<boolean> };
  readonly #run: { runId: string; tenantId: string };
  #queue: Waiting[] = [];
  #working: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(
    run: { runId: string; tenantId: string },
    deps: { links: LinksClient; dispatcher: Dispatcher; holds: () => Promise<boolean> },
  ) {
    this.#run = run;
    this.#deps = deps;
  }

  static newId(): string {
    return `art_${randomBytes(16).toString('hex')}`;
  }

  add(artifact: RunArtifact, body: HeldBody, stored: () => Promise<void>): void {
    this.#queue.push({ artifact, body, stored });
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
    await Promise.all(rest.map(({ body }) => body.drop()));
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
      await Promise.all(batch.map(({ body }) => body.drop()));
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
        throw new RunFailure('upload_failed', `artifacts could not be stored: ${reasonOf(cause)}`);
      }
      left = failed;
    }
  }

  async #store({ artifact, body }: Waiting, link: Link | undefined): Promise<void> {
    if (!link) throw new Error('no link was given');
    const { dispatcher } = this.#deps;
    const put = await request(link.putUrl, {
      method: 'PUT',
      dispatcher,
      headers: { ...link.putHeaders, 'content-length': String(body.bytes) },
      body: body.read(),
    });
    await put.body.dump();
    if (put.statusCode >= 300) throw new Error(`storing was answered with ${put.statusCode}`);
    const got = await request(link.getUrl, { dispatcher });
    const hash = createHash('sha256');
    for await (const chunk of got.body) hash.update(chunk as Uint8Array);
    if (got.statusCode !== 200) throw new Error(`reading back was answered with ${got.statusCode}`);
    if (hash.digest('hex') !== artifact.sha256) throw new Error('what was read back differs');
    metrics.artifactBytes.inc(body.bytes);
  }
}

/** Name and code of a failure; its message can hold a link. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: string };
  return code ? `${error.name} ${code}` : error.message.startsWith('http') ? error.name : error.message.slice(0, 200);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, lane));
}
