import 'reflect-metadata';
import { configureLog, log } from '@moli/telemetry';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.ts';
import { readExecutorConfig } from './config.ts';

async function main(): Promise<void> {
  const config = readExecutorConfig(process.env);
  configureLog({ service: 'executor', level: config.logLevel });
  const app = await NestFactory.create(AppModule.with(config), new FastifyAdapter({ forceCloseConnections: true }), {
    logger: ['error', 'warn', 'fatal'],
  });
  // By its own exit: the first process of a container is not ended by a signal it sends itself.
  app.enableShutdownHooks([], { useProcessExit: true });
  // Health and metrics only.
  await app.listen(config.executorPort, config.executorHost);
  log.info('executor listens', { port: config.executorPort });
}

main().catch((error: unknown) => {
  log.error('executor could not start', { error });
  process.exitCode = 1;
  setImmediate(() => process.exit());
});
