import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { defineConfig } from 'rolldown';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

/** The commit of the tree; an image build, which has no .git, gives it by MOLI_COMMIT. */
function commit(): string {
  if (process.env.MOLI_COMMIT) return process.env.MOLI_COMMIT;
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

/**
 * Bundled: our code, Nest, Better Auth, Kysely. Outside: what OpenTelemetry must be able to patch (pg, ioredis, bullmq, undici and its own API),
 * native modules, data that is read from its package at run time, and the AWS client, whose modules need the order that Node gives them: bundled it
 * does not start under OpenTelemetry's hook.
 */
const EXTERNAL = [
  /^node:/,
  /^@opentelemetry\//,
  /^pg(-|$)/,
  'ioredis',
  'bullmq',
  'bullmq-otel',
  'undici',
  '@node-rs/argon2',
  /^gpt-tokenizer/,
  /^@(aws-sdk|smithy)\//,
  'jschardet',
];

/** Packages that Nest asks for only when they are there. */
const OPTIONAL =
  /^(@nestjs\/(microservices|websockets|platform-express)|class-(validator|transformer)|@fastify\/(view|cors|helmet)|@mikro-orm\/core)(\/|$)/;

export default defineConfig({
  // otel.js is preloaded by `node --import` when traces are on; the service itself never loads it.
  input: { main: 'src/main.ts', otel: '../../libs/telemetry/src/otel.ts' },
  platform: 'node',
  external: (id) => EXTERNAL.some((one) => (typeof one === 'string' ? id === one : one.test(id))) || OPTIONAL.test(id),
  tsconfig: '../../tsconfig.base.json',
  transform: {
    define: { MOLI_BUILD: JSON.stringify({ version, commit: commit() }) },
  },
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    cleanDir: true,
  },
  plugins: [
    {
      name: 'migrations',
      // The migrator reads its SQL files from beside itself, in the source tree as in the bundle.
      writeBundle: () => cpSync('src/database/migrations', 'dist/migrations', { recursive: true }),
    },
  ],
});
