import type { ObjectStore } from '@moli/objects';
import { type LinkAnswer, type LinkRequest, openLinksWorker } from '@moli/queue';
import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { UnrecoverableError, type Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { ArtifactsStore, artifactKey } from '../artifacts/artifacts.store.ts';
import type { GatewayConfig } from '../config.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { isId } from '../ids.ts';
import { CONFIG, OBJECTS, REDIS } from '../tokens.ts';
import { MAX_ARTIFACT_BYTES, MAX_ARTIFACTS } from './run.limits.ts';
import { RunsStore } from './runs.store.ts';

/** Upload and reading back follow at once. */
const LINK_SECONDS = 120;
/** Longest name of a file that a program left, in characters. */
const NAME_LENGTH = 1_024;

/** Gives executors single-use upload links, each bound to one key, size and digest, for runs that are there and have no verdict. */
@Injectable()
export class LinksProcessor implements OnModuleInit, OnApplicationShutdown {
  #worker: Worker<LinkRequest, LinkAnswer, 'link'> | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(RunsStore) private readonly runs: RunsStore,
    @Inject(ArtifactsStore) private readonly artifacts: ArtifactsStore,
  ) {}

  onModuleInit(): void {
    const connection = this.redis.duplicate({ maxRetriesPerRequest: null, connectionName: 'moli-gateway-links' });
    connection.on('error', () => {});
    const traces = this.config.otlpEndpoint !== undefined;
    this.#worker = openLinksWorker(connection, (request) => this.answer(request), { traces });
    this.#worker.on('error', (error) => log.debug('the links queue answers with an error', { error }));
    this.#worker.on('closed', () => connection.disconnect());
    void this.#worker.run().catch((error: unknown) => log.error('the links worker ended', { error }));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#worker?.close();
  }

  /** Errors: UnrecoverableError for a run that is unknown, of another tenant or settled, and for artifacts over the bounds. */
  async answer({ runId, tenantId, artifacts }: LinkRequest): Promise<LinkAnswer> {
    const bytes = artifacts.reduce((sum, artifact) => sum + artifact.bytes, 0);
    const wellFormed =
      isId('ten', tenantId) &&
      isId('run', runId) &&
      artifacts.every(({ id, name }) => isId('art', id) && name.length <= NAME_LENGTH);
    if (!wellFormed || artifacts.length > MAX_ARTIFACTS || bytes > MAX_ARTIFACT_BYTES) {
      throw new UnrecoverableError('the request for links is out of bounds');
    }
    await this.db.as(tenantId, async (tx) => {
      const run = await this.runs.stateOf(tx, runId);
      if (!run || run.settled) throw new UnrecoverableError('there is no such run that could have artifacts');
      await this.artifacts.insert(tx, { tenantId, id: runId, sessionId: run.sessionId }, artifacts);
    });
    return { links: await Promise.all(artifacts.map((artifact) => this.#link(tenantId, runId, artifact))) };
  }

  async #link(
    tenantId: string,
    runId: string,
    { id, bytes, sha256, mimeType }: LinkRequest['artifacts'][number],
  ): Promise<LinkAnswer['links'][number]> {
    const key = artifactKey(tenantId, runId, id);
    const common = { expiresInSeconds: LINK_SECONDS, reach: 'internal' } as const;
    const put = await this.objects.signPut(key, { ...common, bytes, sha256, contentType: mimeType });
    const get = await this.objects.signGet(key, common);
    return { artifactId: id, putUrl: put.url, putHeaders: { ...put.headers }, getUrl: get.url };
  }
}
