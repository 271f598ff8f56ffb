import type { FastifyContextConfig, FastifyInstance } from 'fastify';

/** One served route and the rule its callers meet. */
export interface RouteEntry {
  readonly method: string;
  readonly url: string;
  readonly config: FastifyContextConfig;
}

/** Collects every route as it is registered: Nest's handlers and raw ones alike. Call before any route. */
export function collectRoutes(fastify: FastifyInstance): RouteEntry[] {
  const routes: RouteEntry[] = [];
  fastify.addHook('onRoute', ({ method, url, config }) => {
    for (const one of [method].flat())
      routes.push({ method: String(one), url, config: (config ?? {}) as FastifyContextConfig });
  });
  return routes;
}
