import { type AppError, ERRORS, type Locale } from '@moli/errors';
import { translate } from '../problem/translate.ts';
import type { EventData } from '../sessions/event.schema.ts';
import type { EventIds, LogWriter } from '../sessions/log-writer.ts';
import { TurnCut } from './turn-cut.ts';

/** The events of which exactly one closes each turn. */
export const TURN_ENDS = ['turn.completed', 'turn.stopped', 'turn.failed', 'turn.interrupted'] as const;

/** How a turn ends: the state of its answer and the one event that closes it. */
interface Ending {
  readonly status: EventData<'message.completed'>['status'];
  /** The program is at fault: somebody should look into the log. */
  readonly bug: boolean;
  append(writer: LogWriter, ids: EventIds): void;
}

interface TurnFacts {
  readonly usage: EventData<'turn.completed'>['usage'];
  readonly durationMs: number;
  readonly locale: Locale;
}

/** The ending for what a turn threw; `undefined` is a turn that came to its end. */
export function endingOf(failure: unknown, { usage, durationMs, locale }: TurnFacts): Ending {
  if (failure === undefined) {
    const append: Ending['append'] = (writer, ids) => writer.append('turn.completed', { usage, durationMs }, ids);
    return { status: 'completed', bug: false, append };
  }
  if (failure instanceof TurnCut && failure.kind === 'stopped') {
    const by = failure.by === undefined ? {} : { by: failure.by };
    const append: Ending['append'] = (writer, ids) => writer.append('turn.stopped', { usage, durationMs, ...by }, ids);
    return { status: 'stopped', bug: false, append };
  }
  if (failure instanceof TurnCut) {
    const append: Ending['append'] = (writer, ids) => writer.append('turn.interrupted', { reason: 'shutdown' }, ids);
    return { status: 'interrupted', bug: false, append };
  }
  // A database or queue that is away is said to be so, and is no fault of the program.
  const error = translate(failure);
  const problem = problemOfTurn(error, locale);
  const append: Ending['append'] = (writer, ids) => writer.append('turn.failed', { problem, durationMs }, ids);
  return { status: 'failed', bug: error.code === 'internal', append };
}

/** An error as the session log holds it, in both languages: the reader may switch. */
function problemOfTurn(error: AppError, locale: Locale): EventData<'turn.failed'>['problem'] {
  return {
    ...error.fields,
    code: error.code,
    title: ERRORS[error.code].title[locale],
    detail: { ...error.detail },
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}
