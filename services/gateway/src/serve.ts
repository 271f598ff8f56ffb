import { log } from '@moli/telemetry';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type pg from 'pg';
import { createApp } from './app.ts';
import type { GatewayConfig } from './config.ts';
import { schemaState } from './database/migrator.ts';
import { assertBoundRole } from './database/roles.ts';
import { APP_POOL, AUTH_POOL, LOG_POOL } from './tokens.ts';
import { BUILD } from './version.ts';
import { Drain } from './web/drain.ts';

/** Refuses to serve on a database that is not the code's, or as roles that row-level security does not bind. */
async function assertDatabase(app: NestFastifyApplication): Promise<void> {
  const pool = app.get<pg.Pool>(APP_POOL);
  await assertBoundRole(pool, 'moli_app');
  await assertBoundRole(app.get<pg.Pool>(LOG_POOL), 'moli_log');
  await assertBoundRole(app.get<pg.Pool>(AUTH_POOL), 'moli_auth');
  const { missing, unknown } = await schemaState(pool);
  if (missing.length > 0)
    throw new Error(`the database is not migrated (${missing.join(', ')}): run the migrate command first`);
  if (unknown.length > 0)
    throw new Error(`the database is of a newer version (${unknown.join(', ')}): use that version of Moli`);
}

/** Connections to Redis and Postgres get this long to close; queues of a Redis that is gone would wait for it for the whole stop. */
const CLOSE_MS = 5_000;

/** Stops in order: clients sent away, turns ended, requests answered, modules stopped, pools closed; after the bound the process ends anyway. */
function stopOnSignals(app: NestFastifyApplication, { shutdownSeconds }: GatewayConfig): void {
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info('the gateway stops', { signal });
    const giveUp = (afterMs: number): void => {
      setTimeout(() => {
        log.error('the gateway did not stop in time', { seconds: afterMs / 1000 });
        process.exit(1);
      }, afterMs).unref();
    };
    giveUp(shutdownSeconds * 1000);
    app
      .get(Drain)
      .begin(() => giveUp(CLOSE_MS))
      .then(() => app.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log.error('the gateway did not stop cleanly', { error });
          process.exit(1);
        },
      );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** A bug that nobody awaits must not take every session with it; a broken process state must. */
function watchProcess(): void {
  process.on('unhandledRejection', (error) => log.error('a rejection was not handled', { error }));
  process.on('uncaughtException', (error) => {
    log.error('an exception was not caught', { error });
    process.exit(1);
  });
}

/** Starts the gateway and returns when it listens. Throws when it cannot start; the caller says why and ends the process. */
export async function serve(config: GatewayConfig): Promise<void> {
  const started = performance.now();
  watchProcess();
  const { app } = await createApp(config);
  stopOnSignals(app, config);
  await assertDatabase(app);
  await app.listen({ port: config.port, host: config.host });
  const address = app.getHttpServer().address();
  log.info('the gateway listens', {
    version: BUILD.version,
    host: config.host,
    port: typeof address === 'object' && address ? address.port : config.port,
    startMs: Math.round(performance.now() - started),
  });
}
