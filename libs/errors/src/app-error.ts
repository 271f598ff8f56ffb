import { ERRORS, type ErrorCode, type Locale } from './table.ts';

/** Extra members of a problem body, such as `limit`, `used`, `resetAt`, `accepted`, `issues`. Never a secret. */
export type ErrorFields = Readonly<Record<string, unknown>>;

/** RFC 9457 body as the public API answers it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: ErrorCode;
  detail: string;
  traceId?: string;
  [field: string]: unknown;
}

interface Options {
  /** Members added to the problem body. */
  readonly fields?: ErrorFields;
  /** What really happened, for the log; never shown. */
  readonly cause?: unknown;
  /** Seconds until a new attempt makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

/**
 * The one error of Moli. `detail` says what happened, to what, and what to do, in both languages;
 * status and title come from the table by `code`.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly detail: Readonly<Record<Locale, string>>;
  readonly fields: ErrorFields;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, detail: Record<Locale, string>, options: Options = {}) {
    super(detail.en, { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.fields = options.fields ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** The problem body of an error in the language of the reader. `traceId` lets a support person find the log line. */
export function problemOf(error: AppError, locale: Locale, traceId?: string): Problem {
  const { status, title } = ERRORS[error.code];
  return {
    type: `urn:moli:error:${error.code}`,
    title: title[locale],
    status,
    code: error.code,
    detail: error.detail[locale],
    ...(traceId ? { traceId } : {}),
    ...error.fields,
  };
}

/** Any thrown value as an AppError: ours as it is, everything else as `internal` with the original as its cause. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  return new AppError(
    'internal',
    {
      zh: '服务器内部出错，操作没有完成。请重试；若仍失败，请把追踪编号交给管理员。',
      en: 'Something failed inside the server and nothing was done. Try again; if it keeps failing, give the trace id to an administrator.',
    },
    { cause: thrown },
  );
}
