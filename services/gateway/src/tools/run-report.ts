import type { Locale } from '@moli/errors';
import type { RunDisplay, RunOutcome } from '@moli/queue';

/** Characters of program output that the model reads; longer output keeps its start and its end. */
const STDOUT_LIMIT = 8000;
const STDERR_LIMIT = 2000;
/** What is left of progress bars. */
const PROGRESS_LIMIT = 500;
const DISPLAY_LIMIT = 3000;
const TRACEBACK_LIMIT = 1500;
const TABLE_ROWS = 20;
const TABLE_COLUMNS = 20;
const CELL_LIMIT = 80;
/** Longer runs of base64 are pictures or files printed by mistake; they are no text for a model. */
const BASE64_RUN = /[\w+/-]{200,}={0,2}|(?:[A-Za-z0-9+/]{76}\r?\n){3,}[A-Za-z0-9+/]*={0,2}/g;

/** What the model reads of a run: what happened, what the program said, what it showed and made. Bounded text; no bytes of any file. */
export function reportForModel(outcome: RunOutcome, locale: Locale): string {
  const parts = [verdictLine(outcome)];
  const stdout = outputText(outcome.stdout, STDOUT_LIMIT);
  if (stdout) parts.push(`stdout:\n${stdout}${outcome.truncated.stdout ? '\n[cut at the output limit]' : ''}`);
  const stderr = outputText(stderrWithoutTraceback(outcome), STDERR_LIMIT);
  if (stderr) parts.push(`stderr:\n${stderr}`);
  parts.push(...outcome.display.map((display) => displayText(display, outcome)).filter((text) => text !== ''));
  if (outcome.error) parts.push(errorText(outcome.error, locale));
  if (outcome.artifacts.length > 0) parts.push(artifactLine(outcome));
  if (outcome.skipped.length > 0) {
    parts.push(
      `Not kept: ${outcome.skipped
        .slice(0, 20)
        .map(({ name, reason }) => `${name} (${reason})`)
        .join(', ')}`,
    );
  }
  if (parts.length === 1 && outcome.verdict === 'ok') parts.push('The program printed nothing and made no files.');
  return parts.join('\n\n');
}

const MEANING: Readonly<Record<RunOutcome['verdict'], string>> = {
  ok: 'The program ran to its end.',
  user_error: 'The program failed.',
  timeout_wall: 'The program was stopped: it ran longer than its time limit.',
  timeout_cpu: 'The program was stopped: it used more processor time than allowed.',
  memory_limit: 'The program was stopped: it needed more memory than allowed.',
  pids_limit: 'The program was stopped: it started too many threads or processes.',
  disk_limit: 'The program was stopped: it wrote more to disk than allowed.',
  output_limit: 'The program was stopped: it printed more than allowed.',
  signalled: 'The program ended by a signal.',
  cancelled: 'The run was cancelled.',
  queue_rejected: 'The program was not run: too many runs are waiting.',
  platform_error: 'The program was not run to its end because of a fault of the platform, not of the program.',
};

function verdictLine({ verdict, limits, exitCode, signal }: RunOutcome): string {
  const detail: Partial<Record<RunOutcome['verdict'], string>> = {
    timeout_wall: ` (limit ${limits.wallSeconds} s)`,
    timeout_cpu: ` (limit ${limits.cpuSeconds} s)`,
    memory_limit: ` (limit ${Math.round(limits.memoryBytes / 1024 / 1024)} MiB)`,
    output_limit: ` (limit ${Math.round(limits.outputBytes / 1024)} KiB)`,
    disk_limit: ` (limit ${Math.round(limits.diskBytes / 1024 / 1024)} MiB)`,
    signalled: signal ? ` (${signal})` : '',
    user_error: exitCode ? ` (exit code ${exitCode})` : '',
  };
  return `${MEANING[verdict]} verdict: ${verdict}${detail[verdict] ?? ''}`;
}

/** The traceback is told once, with the error. */
function stderrWithoutTraceback({ stderr, error }: RunOutcome): string {
  const traceback = error?.traceback.trim();
  return traceback ? stderr.replace(traceback, '') : stderr;
}

/** Output as a person would see it on a terminal, bounded: a line that is overwritten by carriage returns is its last state. */
export function outputText(text: string, limit: number): string {
  const hadProgress = /\r(?!\n)/.test(text);
  const lines = text.replaceAll('\r\n', '\n').split('\n').map(lastState);
  const seen = withoutBase64(stripEscapes(lines.join('\n'))).trimEnd();
  return headAndTail(seen, hadProgress ? Math.min(limit, progressLimit(text, limit)) : limit);
}

/** Where most of the output was a progress bar, little of it is worth reading. */
function progressLimit(text: string, limit: number): number {
  const kept = text.split('\n').map(lastState).join('\n').length;
  return kept * 2 < text.length ? PROGRESS_LIMIT : limit;
}

function lastState(line: string): string {
  if (!line.includes('\r')) return line;
  const states = line.split('\r').filter((state) => state !== '');
  return states.at(-1) ?? '';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with ESC
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]|\u001b\][^\u0007]*\u0007/g;
const stripEscapes = (text: string): string => text.replace(ESCAPES, '');
const withoutBase64 = (text: string): string =>
  text.replace(BASE64_RUN, (run) =>
    /[A-Z]/.test(run) && /[a-z]/.test(run) && /\d/.test(run) ? `[${run.length} characters of base64 left out]` : run,
  );

/** The start and the end of a text that is longer than `limit` characters, with what was left out between them. */
export function headAndTail(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const note = `\n[… ${text.length - limit} characters left out …]\n`;
  const room = Math.max(0, limit - note.length);
  const head = Math.ceil(room * 0.6);
  return `${text.slice(0, head).toWellFormed()}${note}${text.slice(text.length - (room - head)).toWellFormed()}`;
}

function displayText(display: RunDisplay, outcome: RunOutcome): string {
  if (display.artifactId) {
    const artifact = outcome.artifacts.find(({ id }) => id === display.artifactId);
    const what = display.mimeType.startsWith('image/') ? 'A chart or picture' : 'Interactive content';
    return `${what} is shown to the user${artifact ? `: ${artifact.name}` : ''}.`;
  }
  if (display.table) return tableText(display.table);
  if (display.text === undefined || !display.mimeType.startsWith('text/')) return '';
  if (display.mimeType === 'text/html') return 'HTML content is shown to the user.';
  return headAndTail(withoutBase64(display.text), DISPLAY_LIMIT);
}

/** A table as small text: tab-separated, first rows and columns, with its whole size. */
function tableText({ columns, rows, totalRows, totalColumns }: NonNullable<RunDisplay['table']>): string {
  const shownColumns = columns.slice(0, TABLE_COLUMNS);
  const header = shownColumns.map(({ name }) => cell(name)).join('\t');
  const body = rows.slice(0, TABLE_ROWS).map((row) => row.slice(0, TABLE_COLUMNS).map(cell).join('\t'));
  const partial = totalRows > body.length || totalColumns > shownColumns.length;
  const size = `Table of ${totalRows} rows and ${totalColumns} columns${partial ? `, first ${body.length} rows and ${shownColumns.length} columns` : ''}:`;
  return headAndTail([size, header, ...body].join('\n'), DISPLAY_LIMIT);
}

function cell(value: string | number | boolean | null): string {
  const text = value === null ? '' : String(value).replace(/[\t\r\n]+/g, ' ');
  return text.length > CELL_LIMIT ? `${text.slice(0, CELL_LIMIT - 1).toWellFormed()}…` : text;
}

function errorText(error: NonNullable<RunOutcome['error']>, locale: Locale): string {
  const where = error.line === null ? '' : ` (line ${error.line})`;
  const lines = [`${error.name}${where}: ${headAndTail(withoutBase64(error.message), 600)}`];
  if (error.explanation[locale]) lines.push(headAndTail(withoutBase64(error.explanation[locale]), 1200));
  if (error.traceback.trim()) lines.push(`Traceback:\n${tail(withoutBase64(error.traceback.trim()), TRACEBACK_LIMIT)}`);
  return lines.join('\n');
}

const tail = (text: string, limit: number): string =>
  text.length <= limit ? text : `[…]\n${text.slice(text.length - limit).toWellFormed()}`;

function artifactLine({ artifacts }: RunOutcome): string {
  const shown = artifacts.slice(0, 50).map(({ name, bytes }) => `${name} (${bytes} bytes)`);
  const more = artifacts.length > shown.length ? ` and ${artifacts.length - shown.length} more` : '';
  return `Files made, shown to the user for download: ${shown.join(', ')}${more}`;
}
