import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describeConfig } from '@moli/config';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ExecutorConfig, readExecutorConfig } from '../../services/executor/src/config.ts';
import { GatewayConfigSchema, readGatewayConfig } from '../../services/gateway/src/config.ts';

const ROOT = new URL('../../', import.meta.url);
const text = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

interface Service {
  readonly image: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: {
    readonly test: readonly string[];
    readonly interval: string;
    readonly timeout: string;
    readonly retries: number;
  };
}
const compose = parse(text('docker-compose.dev.yml')) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const services = Object.entries(compose.services);

test('all that stands around Moli is there', () => {
  const names = ['postgres', 'redis', 'minio', 'qdrant', 'prometheus', 'grafana', 'jaeger'];
  expect(Object.keys(compose.services)).toEqual(names);
});

describe.each(services)('%s', (_name, service) => {
  test('has an image of an exact version', () => {
    expect(service.image).toMatch(/:(v?\d+\.\d+(\.\d+)?(-bookworm)?|RELEASE\.[\dTZ-]+)$/);
  });

  test('has a health check that ends', () => {
    expect(service.healthcheck?.test[0]).toMatch(/^CMD(-SHELL)?$/);
    expect(service.healthcheck?.test.length).toBeGreaterThan(1);
    expect(service.healthcheck).toMatchObject({
      interval: expect.any(String),
      timeout: expect.any(String),
      retries: expect.any(Number),
    });
  });

  test('is reachable from this machine alone', () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('mounts only what is there, and waits only for what is there', () => {
    for (const volume of service.volumes ?? []) {
      const [from = ''] = volume.split(':');
      expect([from, from.startsWith('./') ? existsSync(new URL(from, ROOT)) : from in compose.volumes]).toEqual([
        from,
        true,
      ]);
    }
    for (const name of Object.keys(service.depends_on ?? {})) expect(compose.services).toHaveProperty(name);
  });
});

const gateway = parseEnv(text('infra/compose/gateway.env'));
const executor = parseEnv(text('infra/compose/executor.env'));

test('every variable for the services is one that they read, and has a value that they take', () => {
  for (const [env, schema] of [
    [gateway, GatewayConfigSchema],
    [executor, ExecutorConfig],
  ] as const) {
    const known = describeConfig(schema).map(({ variable }) => variable);
    expect(Object.keys(env).filter((name) => !known.includes(name))).toEqual([]);
  }
  readGatewayConfig(gateway);
  // The one that differs from machine to machine; the README says how it is made.
  readExecutorConfig({ ...executor, MOLI_SANDBOX_PYTHON: '/data/python/bin/python' });
});

test('the services use the addresses and passwords that compose gives', () => {
  const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => [port.split(':')[1], name]));
  const at = Object.fromEntries(published) as Record<string, string>;
  const urls = Object.values({ ...gateway, ...executor }).flatMap((value) =>
    URL.canParse(value ?? '') ? [new URL(value ?? '')] : [],
  );
  expect(new Set(urls.map((url) => at[url.port]))).toEqual(new Set(['postgres', 'redis', 'minio', 'jaeger']));
  const owner = new URL(gateway.MOLI_DATABASE_OWNER_URL ?? '');
  expect(compose.services.postgres?.environment).toEqual({
    POSTGRES_USER: owner.username,
    POSTGRES_PASSWORD: owner.password,
    POSTGRES_DB: owner.pathname.slice(1),
  });
  const { password } = new URL(gateway.MOLI_REDIS_URL ?? '');
  expect(compose.services.redis?.environment).toEqual({ REDISCLI_AUTH: password });
  expect(executor.MOLI_REDIS_URL).toBe(gateway.MOLI_REDIS_URL);
  expect(gateway.MOLI_OBJECTS).toBe('s3');
  expect(compose.services.minio?.environment).toEqual({
    MINIO_ROOT_USER: gateway.MOLI_S3_ACCESS_KEY,
    MINIO_ROOT_PASSWORD: gateway.MOLI_S3_SECRET_KEY,
  });
});

test('Prometheus scrapes where the services listen', () => {
  const { scrape_configs: jobs } = parse(text('infra/compose/prometheus.yml')) as {
    scrape_configs: { static_configs: { targets: string[] }[] }[];
  };
  const ports = jobs
    .flatMap(({ static_configs }) => static_configs.flatMap(({ targets }) => targets))
    .map((target) => target.split(':')[1]);
  expect(ports).toEqual([gateway.MOLI_PORT, executor.MOLI_EXECUTOR_PORT]);
});
