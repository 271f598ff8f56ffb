import type { Readable } from 'node:stream';
import { AppError } from '@moli/errors';
import { answerLink, FolderObjectStore, type ObjectStore, S3ObjectStore } from '@moli/objects';
import { log } from '@moli/telemetry';
import { Inject, Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AuditStore } from '../audit/audit.store.ts';
import type { GatewayConfig } from '../config.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { CONFIG, OBJECTS } from '../tokens.ts';

/** Refused links that leave an audit row, at most this many a minute: a flood of forged links must not fill the table. */
const AUDITED_A_MINUTE = 60;
const SWEEP_MS = 3_600_000;
const DAY_SECONDS = 86_400;

/**
 * Opens the store when the gateway starts and sweeps it. `GET|PUT /objects/{key}`: signed links of the folder store. The signature is the credential;
 * there is no other. Links of an S3 store lead to its server.
 */
@Module({})
export class ObjectsModule implements OnModuleInit, OnModuleDestroy {
  #window = 0;
  #audited = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: GatewayConfig,
    private readonly host: HttpAdapterHost,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    private readonly db: TenantDb,
    private readonly audit: AuditStore,
  ) {}

  async onModuleInit(): Promise<void> {
    const { objects } = this;
    if (objects instanceof S3ObjectStore) {
      // A day more than an upload may take: the server must not be quicker than we are.
      const state = await objects.open(Math.ceil(this.config.uploadExpirySeconds / DAY_SECONDS) + 1);
      log.info('the bucket is ready', { ...state });
    }
    if (objects instanceof FolderObjectStore) {
      await objects.open();
      await this.#serveLinks(objects);
    }
    this.#timer = setInterval(() => {
      objects
        .sweepTemporary(this.config.uploadExpirySeconds)
        .catch((error: unknown) => log.warn('the sweep of objects failed', { error }));
    }, SWEEP_MS);
    this.#timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async #serveLinks(objects: FolderObjectStore): Promise<void> {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    await fastify.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      // The body stays a stream; the link itself bounds its size.
      scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
      scope.route({
        method: ['GET', 'PUT'],
        url: '/objects/*',
        config: { public: true, anyHost: true },
        exposeHeadRoute: false,
        handler: async (request, reply) => {
          const answer = await this.#answer(objects, request);
          reply.status(answer.status).headers(answer.headers);
          return reply.send(answer.body ?? null);
        },
      });
    });
  }

  async #answer(objects: FolderObjectStore, request: FastifyRequest) {
    try {
      return await answerLink(objects, {
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: (request.body as Readable | undefined) ?? request.raw,
      });
    } catch (error) {
      if (error instanceof AppError && error.code === 'link_invalid') await this.#record(request);
      throw error;
    }
  }

  async #record(request: FastifyRequest): Promise<void> {
    const tenantId = /^\/objects\/(ten_[0-9a-f]{32})\//.exec(request.url)?.[1];
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#window) {
      this.#window = minute;
      this.#audited = 0;
    }
    if (!tenantId || this.#audited >= AUDITED_A_MINUTE) return;
    this.#audited += 1;
    await this.db.as(tenantId, async (tx) => {
      const known = await tx.selectFrom('tenants').select('id').where('id', '=', tenantId).executeTakeFirst();
      if (known)
        await this.audit.append(
          tx,
          { actor: 'link' },
          { action: 'object.link', outcome: 'refused', detail: { method: request.method } },
        );
    });
  }
}
