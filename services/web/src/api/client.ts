import { locale, t } from '../i18n/i18n.ts';
import type { Problem } from './types.ts';

/** A refused or failed request. `problem.detail` is a sentence for the reader, in their language. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

interface RequestOptions {
  body?: unknown;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Lets the request outlive the page. */
  keepalive?: boolean;
}

/** Called when the gateway says that nobody is signed in. Set once by the router. */
let onUnauthenticated: () => void = () => {};
export function whenUnauthenticated(handler: () => void): void {
  onUnauthenticated = handler;
}

/** Sends one request with the session cookie and answers its JSON (undefined for 204). Throws `ProblemError` for everything else. */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  const headers: Record<string, string> = {
    'accept-language': locale.value,
    accept: 'application/json',
    ...options.headers,
  };
  if (options.body !== undefined) headers['content-type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: options.signal,
      keepalive: options.keepalive,
      credentials: 'same-origin',
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ProblemError({
      status: 0,
      code: 'offline',
      title: t('problem.offlineTitle'),
      detail: t('problem.offline'),
    });
  }
  if (response.ok) {
    const text = await response.text();
    return (text ? JSON.parse(text) : undefined) as T;
  }
  const problem = await readProblem(response);
  if (response.status === 401 && !path.startsWith('/api/auth/')) onUnauthenticated();
  throw new ProblemError(problem);
}

/** The problem body of an answer, or a plain sentence when a proxy answered something else. */
export async function readProblem(response: Response): Promise<Problem> {
  return parseProblem(await response.text().catch(() => ''), response.status);
}

export function parseProblem(text: string, status: number): Problem {
  try {
    const body = JSON.parse(text) as Partial<Problem> & { message?: string };
    const detail = body.detail ?? body.message;
    if (typeof detail === 'string') {
      return { ...body, status, code: body.code ?? 'unknown', title: body.title ?? detail, detail };
    }
  } catch {
    // Not JSON: a proxy or a crash page. Its text would not help the reader.
  }
  return {
    status,
    code: 'unknown',
    title: t('problem.unknownTitle'),
    detail: t('problem.unknown', { status }),
  };
}

/** Any thrown value as a problem that can be shown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return {
    status: 0,
    code: 'client',
    title: t('problem.unknownTitle'),
    detail: error instanceof Error ? error.message : String(error),
  };
}
