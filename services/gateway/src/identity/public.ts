import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtension } from '@nestjs/swagger';
import type {} from 'fastify';
import type { Role } from '../database/schema.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** No credentials are asked for and none are looked at. */
    public?: boolean;
    /** Credentials are used when they are there; `request.caller` may be missing (a WebSocket whose key comes in the first frame). */
    optionalCaller?: boolean;
    /** Least role. Without it: viewer for GET and HEAD, member for everything that changes something. */
    minRole?: Role;
    /** May be reached under any Host: probes, and links that carry their own signature. */
    anyHost?: boolean;
  }
}

/** Marks a handler of the OpenAPI document as open. */
export const PUBLIC_EXTENSION = 'x-public';

/** The handler needs no credentials. Raw Fastify routes say `config: { public: true }` instead. */
export const Public = () => applyDecorators(RouteConfig({ public: true }), ApiExtension(PUBLIC_EXTENSION, true));

/** Answered under any Host and without credentials: probes of the machine. */
export const Probe = () =>
  applyDecorators(RouteConfig({ public: true, anyHost: true }), ApiExtension(PUBLIC_EXTENSION, true));

/**
 * The least role that may call the handler. Not needed for the usual rule: reading needs a viewer, changing a member. Raw Fastify routes say
 * `config: { minRole: … }` instead.
 */
export const MinRole = (minRole: Role) => RouteConfig({ minRole });
