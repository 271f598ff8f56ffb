/** `ExecutorConfig`: read once, frozen. */
export const CONFIG = Symbol('config');
/** `Redis` for commands; whoever blocks or subscribes duplicates it. */
export const REDIS = Symbol('redis');
/** `Runner`: where sandboxes come from. */
export const RUNNER = Symbol('runner');
/** This process among executors: a new one with each start. */
export const EXECUTOR_ID = Symbol('executor id');
