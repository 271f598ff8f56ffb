/**
 * Every Redis key of runs, in one place. The gateway and the executor share them; nobody else touches them.
 * BullMQ keeps its own keys under `bull:`.
 */

/** Redis Stream of a run's live output; one field `entry`, a `RunStreamEntry` as JSON. Expires 10 minutes after the result. */
export const runEventsKey = (runId: string): string => `run:${runId}:events`;

/**
 * Who may act for a run: `x:EXECUTOR:TOKEN` while an executor runs it, `done` after its result, `gateway` when the gateway ended it.
 * Set once with NX, so a run is never executed twice. Expires an hour after the run can have ended.
 */
export const runOwnerKey = (runId: string): string => `run:${runId}:owner`;

/** Present when somebody asked for the run to end. Expires after an hour. */
export const runCancelKey = (runId: string): string => `run:${runId}:cancel`;

/** Pub/sub channel: run ids to cancel, heard by every executor. */
export const CANCEL_CHANNEL = 'moli:runs:cancel';

/** Hash: executor id → JSON of `ExecutorReport`. Entries of executors that died are removed by the gateway's sweep. */
export const EXECUTORS_KEY = 'moli:executors';

/**
 * Sorted set: `TENANT RUN` by deadline (epoch ms) of every run that was accepted and has no stored verdict. It bounds the queue and
 * tells the sweep where to look; no expiry, the sweep empties it.
 */
export const OPEN_RUNS_KEY = 'moli:runs:open';

/** Hash for the fair order: `v` and the last tag of each tenant. Deleted whenever no run is open. */
export const FAIR_KEY = 'moli:runs:fair';

/** Lock so that one gateway sweeps at a time; expires within a second. */
export const SWEEP_KEY = 'moli:runs:sweep';

/** Stream that wakes a gateway's blocking read when the set of followed runs changes; expires when the gateway is gone. */
export const wakeKey = (gatewayId: string): string => `moli:runs:wake:${gatewayId}`;
