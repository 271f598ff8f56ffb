import websocket from '@fastify/websocket';
import { AppError } from '@moli/errors';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Authenticator } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { Metrics } from '../metrics.ts';
import { SessionsService } from '../sessions/sessions.service.ts';
import { type Credentials, SocketConnection } from './socket-connection.ts';
import { TurnControlService } from './turn-control.service.ts';
import { TurnsService } from './turns.service.ts';

/** Largest frame from a client, in bytes: like the body of a request. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** `GET /v1/ws`: one socket for the text and the task states of many sessions. */
@Injectable()
export class SessionSocket implements OnModuleInit, OnModuleDestroy {
  readonly #connections = new Set<SocketConnection>();

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(SessionsService) private readonly sessions: SessionsService,
    @Inject(TurnsService) private readonly turns: TurnsService,
    @Inject(TurnControlService) private readonly control: TurnControlService,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  async onModuleInit(): Promise<void> {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    await fastify.register(async (scope) => {
      await scope.register(websocket, { options: { maxPayload: MAX_PAYLOAD_BYTES, perMessageDeflate: false } });
      scope.route({
        method: 'GET',
        url: '/v1/ws',
        // A program sends its key in the first frame. A cookie was checked together with its Origin before the upgrade.
        config: { optionalCaller: true },
        handler: (_request, reply) => reply.status(426).header('upgrade', 'websocket').send(),
        wsHandler: (socket, request) => {
          const { sessions, turns, control, metrics } = this;
          const connection = new SocketConnection(
            socket,
            request.caller,
            { sessions, turns, control, metrics },
            this.#credentialsOf(request),
          );
          this.#connections.add(connection);
          socket.once('close', () => this.#connections.delete(connection));
          connection.start();
        },
      });
    });
  }
  /** While turns end here, clients go on at another gateway. */
  onModuleDestroy(): void {
    for (const connection of this.#connections) connection.sendAway();
  }

  #credentialsOf(request: FastifyRequest): Credentials {
    return {
      byKey: (key) => this.authenticator.byKey(key, request),
      byCookie: async () =>
        request.headers.authorization || request.headers.cookie ? await this.#again(request) : null,
    };
  }

  /** Looks at the credentials of the upgrade once more. Membership or tenant may be gone: then nobody is found. */
  async #again(request: FastifyRequest): Promise<Caller | null> {
    try {
      return (await this.authenticator.find(request, NO_REPLY))?.caller ?? null;
    } catch (error) {
      if (error instanceof AppError && error.status < 500) return null;
      throw error;
    }
  }
}

/** The answer to the upgrade was sent long ago: a cookie that would be renewed cannot be. */
const NO_REPLY = { header: () => NO_REPLY } as unknown as FastifyReply;
