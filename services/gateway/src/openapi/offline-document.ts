import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { AppModule } from '../app.module.ts';
import { type GatewayConfig, readGatewayConfig } from '../config.ts';
import { makeDocument } from './document.ts';

/** Values that satisfy the schema; nothing connects to them. */
function anyConfig(): GatewayConfig {
  const database = 'postgres://nobody@127.0.0.1:1/none';
  return readGatewayConfig({
    MOLI_DATABASE_URL: database,
    MOLI_DATABASE_LOG_URL: database,
    MOLI_DATABASE_AUTH_URL: database,
    MOLI_REDIS_URL: 'redis://127.0.0.1:1',
    MOLI_SECRET: '0'.repeat(64),
  });
}

/** The OpenAPI document without a database, Redis or an open port: the parts are made, but not started. */
export async function offlineDocument(): Promise<OpenAPIObject> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.register(anyConfig(), { offline: true }),
    new FastifyAdapter(),
    {
      logger: false,
      abortOnError: false,
    },
  );
  return makeDocument(app);
}
