import websocket from '@fastify/websocket';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { Authenticator } from '../identity/authenticator.ts';
import { Metrics } from '../metrics.ts';
import { SessionsService } from '../sessions/sessions.service.ts';
import { SocketConnection } from './socket-connection.ts';
import { TurnControlService } from './turn-control.service.ts';
import { TurnsService } from './turns.service.ts';

/** Largest frame from a client, in bytes: like the body of a request. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** `GET /v1/ws`: one socket for the text and the task states of many sessions. */
@Injectable()
export class SessionSocket implements OnModuleInit {
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
            (key) => this.authenticator.byKey(key, request),
          );
          connection.start();
        },
      });
    });
  }
}
