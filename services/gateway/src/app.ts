import { activeSpanTraceId, newTraceId } from '@moli/telemetry';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { AppModule } from './app.module.ts';
import type { GatewayConfig } from './config.ts';
import { registerAuthentication } from './identity/authentication.hook.ts';
import { Authenticator } from './identity/authenticator.ts';
import { registerSignIn } from './identity/sign-in.routes.ts';
import { Metrics } from './metrics.ts';
import { NestLog } from './nest-log.ts';
import { registerDocs } from './openapi/docs.routes.ts';
import { requestFault } from './problem/issues.ts';
import { ProblemFilter, sendProblem } from './problem/problem.filter.ts';
import { collectRoutes, type RouteEntry } from './routes.ts';
import { Drain } from './web/drain.ts';
import { registerRequestHooks } from './web/request.hooks.ts';
import { registerWeb } from './web/web.routes.ts';

/** Largest JSON body, in bytes. Files have routes of their own. */
const BODY_LIMIT_BYTES = 1024 * 1024;

export interface GatewayApp {
  readonly app: NestFastifyApplication;
  /** Every route that is served, with its rule; a test walks them. */
  readonly routes: readonly RouteEntry[];
}

/** Nest would replace our error handler when its modules are up, which is too late for hooks and for routes that modules registered by then. */
class GatewayAdapter extends FastifyAdapter {
  override setErrorHandler(): ReturnType<FastifyAdapter['setErrorHandler']> {
    return this.getInstance();
  }
}

function makeAdapter(config: GatewayConfig) {
  const options: FastifyServerOptions = {
    bodyLimit: BODY_LIMIT_BYTES,
    trustProxy: config.trustedProxies.length > 0 ? config.trustedProxies : false,
    // The id of a request is its trace id: one word to ask for in logs, traces and problem bodies.
    genReqId: () => activeSpanTraceId() ?? newTraceId(),
    requestIdHeader: false,
    // SSE and WebSocket readers would keep the process alive.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
    // A URL that cannot be decoded never reaches Nest's filter.
    frameworkErrors: (error, request, reply) => {
      sendProblem(request as FastifyRequest, reply as FastifyReply, error);
    },
  };
  return new GatewayAdapter(options);
}

/**
 * The whole gateway, ready to listen or to be asked with `inject`. The order is: platform, hooks (trace id, security headers, credentials), raw
 * routes, modules, documents, the web workbench last (it answers what nobody else does).
 */
export async function createApp(config: GatewayConfig): Promise<GatewayApp> {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.register(config), makeAdapter(config), {
    logger: new NestLog(),
    // Nest ends the process by itself otherwise, and the reason would be lost.
    abortOnError: false,
    forceCloseConnections: true,
    bodyParser: false,
  });
  app.useGlobalPipes(new StandardSchemaValidationPipe({ exceptionFactory: requestFault }));
  app.useGlobalFilters(app.get(ProblemFilter));
  const fastify = app.getHttpAdapter().getInstance();
  const routes = collectRoutes(fastify);
  const metrics = app.get(Metrics);
  fastify.setErrorHandler((error, request, reply) => sendProblem(request, reply, error, metrics));
  registerRequestHooks(fastify, metrics);
  app.get(Drain).register(fastify);
  registerAuthentication(fastify, app.get(Authenticator));
  registerSignIn(fastify, app);
  registerWeb(fastify, config);
  registerDocs(fastify, app);
  await app.init();
  return { app, routes };
}
