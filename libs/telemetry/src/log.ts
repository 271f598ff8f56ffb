import { currentTraceId } from './trace-id.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Data of a line. The message is constant; what varies goes here. Never user code, its output, a message of a person, or a secret.
 */
export interface LogFields {
  readonly tenant?: string;
  readonly session?: string;
  readonly turn?: string;
  readonly run?: string;
  readonly file?: string;
  /** Logged as name, code, message and stack, credentials removed. */
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

interface Settings {
  service: string;
  level: LogLevel;
  write: (line: string) => void;
}

const settings: Settings = {
  service: 'moli',
  level: 'info',
  write: (line) => {
    process.stderr.write(`${line}\n`);
  },
};

/** Called once at the start of a process. Lines go to standard error unless `write` says otherwise. */
export function configureLog(changes: Partial<Settings>): void {
  Object.assign(settings, changes);
}

/** Passwords in URLs, bearer tokens and our API keys: a driver's error message can hold them. */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/(\w+:\/\/[^\s/:@]*):[^\s/@]+@/g, '$1:***@')
    .replaceAll(/\bBearer\s+[\w.~+/=-]+/gi, 'Bearer ***')
    .replaceAll(/\b(moli|sk)[_-][\w-]{16,}/g, '$1_***')
    .replaceAll(/([?&](?:token|signature|key)=)[^&\s]+/gi, '$1***');
}

/** An error as plain data; causes up to three deep. */
function errorFields(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error, message: withoutSecrets(String(error)).slice(0, 500) };
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message: withoutSecrets(error.message).slice(0, 2000),
    ...(depth === 0 && error.stack
      ? {
          stack: withoutSecrets(error.stack)
            .split('\n')
            .slice(1, 12)
            .map((line) => line.trim()),
        }
      : {}),
    ...(error.cause !== undefined && depth < 3 ? { cause: errorFields(error.cause, depth + 1) } : {}),
  };
}

function write(level: LogLevel, message: string, fields: LogFields): void {
  if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(settings.level)) return;
  const { error, ...rest } = fields;
  const trace = currentTraceId();
  settings.write(
    JSON.stringify({
      at: new Date().toISOString(),
      level,
      service: settings.service,
      message,
      ...(trace ? { trace } : {}),
      ...rest,
      ...(error === undefined ? {} : { error: errorFields(error) }),
    }),
  );
}

/** The log of a process: JSON, one object a line, with the trace id of what is being done. */
export const log = {
  debug: (message: string, fields: LogFields = {}): void => write('debug', message, fields),
  info: (message: string, fields: LogFields = {}): void => write('info', message, fields),
  warn: (message: string, fields: LogFields = {}): void => write('warn', message, fields),
  error: (message: string, fields: LogFields = {}): void => write('error', message, fields),
};
