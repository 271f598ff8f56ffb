export { AppError, type ErrorFields, type Problem, problemOf, toAppError } from './app-error.ts';
export { ERRORS, type ErrorCode, type ErrorRow, isErrorCode, LOCALES, type Locale } from './table.ts';
