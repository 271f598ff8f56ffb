import { integer, readConfig } from '@moli/config';
import { LOG_LEVELS } from '@moli/telemetry';
import { z } from 'zod';

/** Configuration of the executor; see `docs/config.md`. */
export const ExecutorConfig = z.object({
  executorPort: integer(1, 65_535).meta({ description: 'Loopback port of health and metrics.' }),
  redisUrl: z.url().meta({ description: 'Redis with the queues and the live output of runs.', secret: true }),
  sandboxPython: z
    .string()
    .meta({ description: 'Python interpreter of the environment with the packages that runs can import.' }),
  sandboxDir: z.string().meta({ description: 'Folder of the in-sandbox program.' }),
  sandboxStateDir: z
    .string()
    .meta({ description: 'Folder for the sandbox socket and for files on their way out of a run.' }),
  sandboxSlots: integer(1, 256)
    .prefault('4')
    .meta({ description: 'Runs at once on this executor, each in a sandbox of its own.' }),
  sandboxMinStrength: z.string().optional().meta({
    description:
      'Refuse to start when the machine gives weaker isolation than this; unset means the strongest form only.',
  }),
  otlpEndpoint: z
    .url()
    .optional()
    .meta({ description: 'OpenTelemetry collector (OTLP over HTTP); unset means no traces.' }),
  logLevel: z.enum(LOG_LEVELS).prefault('info').meta({ description: 'Least severe log lines that are written.' }),
});
export type ExecutorConfig = Readonly<z.output<typeof ExecutorConfig>>;

export function readExecutorConfig(env: NodeJS.ProcessEnv): ExecutorConfig {
  return readConfig(ExecutorConfig, env);
}
