/**
 * Injection tokens of what the whole gateway shares. They are provided once, by the global PlatformModule; everything else is a class.
 */
/** `GatewayConfig`: read once from the environment, frozen. */
export const CONFIG = Symbol('config');
/** `Redis` (ioredis): commands. Whoever needs a blocking or subscribing connection duplicates it. */
export const REDIS = Symbol('redis');
/** `ObjectStore`: bytes of files and artifacts. */
export const OBJECTS = Symbol('objects');
/** `Kysely<Database>` as role moli_log: appends to the session log across tenants, reads nothing else. */
export const LOG_DB = Symbol('log-db');
/** `Kysely<Database>` as role moli_auth: finds keys and members before the tenant is known. */
export const AUTH_DB = Symbol('auth-db');
/** `pg.Pool` as role moli_app; TenantDb is the only door for queries, this is for health checks and shutdown. */
export const APP_POOL = Symbol('app-pool');
/** `pg.Pool` as role moli_log, behind LOG_DB. */
export const LOG_POOL = Symbol('log-pool');
/** `pg.Pool` as role moli_auth with schema `auth` first, behind AUTH_DB; Better Auth's tables are reached through it. */
export const AUTH_POOL = Symbol('auth-pool');
