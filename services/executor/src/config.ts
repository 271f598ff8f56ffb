import { integer, readConfig } from '@moli/config';
import { LOG_LEVELS } from '@moli/telemetry';
import { z } from 'zod';

const SandboxProfiles = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'not JSON' });
      return z.NEVER;
    }
  })
  .pipe(
    z
      .record(
        z.string().regex(/^[a-z]([a-z0-9-]{0,20}[a-z0-9])?$/),
        z
          .strictObject({ min: z.int().min(0), max: z.int().min(1) })
          .refine(({ min, max }) => min <= max, 'min over max'),
      )
      .refine((profiles) => 'python' in profiles, 'the profile python is missing'),
  );

/** What each runner cannot do without. */
const NEEDED = {
  local: ['sandboxPython', 'sandboxDir', 'sandboxStateDir'],
  kubernetes: ['sandboxNamespace', 'courierTlsCert', 'courierTlsKey'],
} as const;

/** Configuration of the executor; see `docs/config.md`. */
export const ExecutorConfig = z
  .object({
    executorPort: integer(1, 65_535).meta({ description: 'Port of health and metrics.' }),
    executorHost: z
      .string()
      .prefault('127.0.0.1')
      .meta({ description: 'Address that health, metrics and couriers are served on; in a Pod all addresses.' }),
    redisUrl: z.url().meta({ description: 'Redis with the queues and the live output of runs.', secret: true }),
    runner: z
      .enum(['local', 'kubernetes'])
      .prefault('local')
      .meta({ description: 'Where runs happen: sandboxes of this machine, or Pods of the cluster.' }),
    sandboxPython: z.string().optional().meta({
      description:
        'Python interpreter of the environment with the packages that runs can import. Local runner: required.',
    }),
    sandboxDir: z
      .string()
      .optional()
      .meta({ description: 'Folder of the in-sandbox program. Local runner: required.' }),
    sandboxStateDir: z.string().optional().meta({
      description: 'Folder for the sandbox socket and for files on their way out of a run. Local runner: required.',
    }),
    sandboxSlots: integer(1, 256).prefault('4').meta({
      description: 'Runs at once on this executor, each in a sandbox of its own. Local runner only.',
    }),
    sandboxMinStrength: z.string().optional().meta({
      description:
        'Refuse to start, or refuse a Pod, with weaker isolation than this; unset means the strongest form only (`userns+landlock+seccomp`).',
    }),
    sandboxNamespace: z
      .string()
      .optional()
      .meta({ description: 'Namespace of the sandbox Pods. Kubernetes runner: required.' }),
    sandboxProfiles: SandboxProfiles.prefault('{"python":{"min":2,"max":10}}').meta({
      description:
        'Fewest and most sandbox Pods of each profile, as JSON. The Deployment of profile P is `moli-sandbox-P`.',
    }),
    sandboxServiceAccount: z
      .string()
      .prefault('moli-sandbox')
      .meta({ description: 'Service account of the sandbox Pods.' }),
    courierPort: integer(0, 65_535)
      .prefault('9443')
      .meta({ description: 'Port (gRPC over TLS) that couriers of sandbox Pods attach to.' }),
    courierTlsCert: z.string().optional().meta({
      description: 'Certificate (PEM file, read again when it changes) of that port. Kubernetes runner: required.',
    }),
    courierTlsKey: z
      .string()
      .optional()
      .meta({ description: 'Key (PEM file, read again when it changes) of that port. Kubernetes runner: required.' }),
    shutdownSeconds: integer(0, 86_400)
      .prefault('3')
      .meta({ description: 'After SIGTERM no run is taken any more, and those that are on have this long to end.' }),
    otlpEndpoint: z
      .url()
      .optional()
      .meta({ description: 'OpenTelemetry collector (OTLP over HTTP); unset means no traces.' }),
    logLevel: z.enum(LOG_LEVELS).prefault('info').meta({ description: 'Least severe log lines that are written.' }),
  })
  .superRefine((config, context) => {
    for (const field of NEEDED[config.runner]) {
      if (config[field] === undefined) context.addIssue({ code: 'custom', path: [field], message: 'is not set' });
    }
  });
export type ExecutorConfig = Readonly<z.output<typeof ExecutorConfig>>;

export function readExecutorConfig(env: NodeJS.ProcessEnv): ExecutorConfig {
  return readConfig(ExecutorConfig, env);
}
