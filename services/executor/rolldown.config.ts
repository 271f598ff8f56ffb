import { defineConfig } from 'rolldown';

/**
 * Bundled: our code and Nest. Outside: what OpenTelemetry must be able to patch (ioredis, bullmq) and its own API.
 */
const EXTERNAL = [/^node:/, /^@opentelemetry\//, /^(ioredis|bullmq|bullmq-otel)$/];

/** Packages that Nest asks for only when they are there. */
const OPTIONAL =
  /^(@nestjs\/(microservices|websockets|platform-express)|class-(validator|transformer)|@fastify\/(view|static|cors|helmet))(\/|$)/;

export default defineConfig({
  // otel.js is preloaded by `node --import` when traces are on; the service itself never loads it.
  input: { main: 'src/main.ts', otel: '../../libs/telemetry/src/otel.ts' },
  platform: 'node',
  external: (id) => EXTERNAL.some((one) => one.test(id)) || OPTIONAL.test(id),
  tsconfig: '../../tsconfig.base.json',
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    cleanDir: true,
  },
});
