import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Every series of the executor. `docs/metrics.md` says which question each answers. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });

const STAGE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export const metrics = {
  runs: new Counter({
    name: 'moli_executor_runs_total',
    help: 'Runs that this executor ended, by verdict.',
    labelNames: ['verdict'] as const,
    registers: [registry],
  }),
  stageSeconds: new Histogram({
    name: 'moli_executor_run_stage_seconds',
    help: 'Time of a run in each stage: queue, claim, stage, run, collect.',
    labelNames: ['stage'] as const,
    buckets: STAGE_SECONDS,
    registers: [registry],
  }),
  poolIdle: new Gauge({
    name: 'moli_executor_pool_idle_sandboxes',
    help: 'Sandboxes that a run could take now.',
    registers: [registry],
  }),
  poolSlots: new Gauge({
    name: 'moli_executor_pool_sandboxes',
    help: 'Sandboxes that this executor holds, idle or busy.',
    registers: [registry],
  }),
  poolHeld: new Gauge({
    name: 'moli_executor_couriers',
    help: 'Couriers of sandbox Pods that this executor holds, by profile and state (idle, busy).',
    labelNames: ['profile', 'state'] as const,
    registers: [registry],
  }),
  poolStarting: new Gauge({
    name: 'moli_executor_starting_sandboxes',
    help: 'Sandbox Pods of the cluster that are not up yet, by profile.',
    labelNames: ['profile'] as const,
    registers: [registry],
  }),
  attachRefusals: new Counter({
    name: 'moli_executor_attach_refusals_total',
    help: 'Couriers that were refused, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  }),
  coldStarts: new Counter({
    name: 'moli_executor_cold_starts_total',
    help: 'Runs that found no idle sandbox and waited for one, by profile.',
    labelNames: ['profile'] as const,
    registers: [registry],
  }),
  apiWrites: new Counter({
    name: 'moli_executor_api_writes_total',
    help: 'Writing requests to the Kubernetes API, by call (review, delete, scale).',
    labelNames: ['call'] as const,
    registers: [registry],
  }),
  outputBytes: new Counter({
    name: 'moli_executor_output_bytes_total',
    help: 'Bytes that programs wrote to standard output and error and that were relayed.',
    labelNames: ['stream'] as const,
    registers: [registry],
  }),
  artifactBytes: new Counter({
    name: 'moli_executor_artifact_bytes_total',
    help: 'Bytes of artifacts uploaded and read back.',
    registers: [registry],
  }),
  inputBytes: new Counter({
    name: 'moli_executor_input_bytes_total',
    help: 'Bytes of input files staged into sandboxes.',
    registers: [registry],
  }),
  failures: new Counter({
    name: 'moli_executor_failures_total',
    help: 'Runs that the platform failed, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  }),
};
