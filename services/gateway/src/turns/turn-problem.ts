import { type AppError, ERRORS, type Locale } from '@moli/errors';
import type { EventData } from '../sessions/event.schema.ts';

/** An error as the session log holds it, in both languages: the reader may switch. */
export function turnProblem(error: AppError, locale: Locale): EventData<'turn.failed'>['problem'] {
  return {
    ...error.fields,
    code: error.code,
    title: ERRORS[error.code].title[locale],
    detail: { ...error.detail },
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}
