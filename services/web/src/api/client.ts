import createClient, { type Middleware } from 'openapi-fetch';
import { locale, t } from '../i18n/i18n.ts';
import type { paths } from './schema.js';
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

/** Called when the gateway says that nobody is signed in. */
let onUnauthenticated: () => void = () => {};
export function whenUnauthenticated(handler: () => void): void {
  onUnauthenticated = handler;
}

const inReadersLanguage: Middleware = {
  onRequest({ request }) {
    request.headers.set('accept-language', locale.value);
    return request;
  },
  onError() {
    return new ProblemError({
      status: 0,
      code: 'offline',
      title: t('problem.offlineTitle'),
      detail: t('problem.offline'),
    });
  },
};

/** The gateway's API by its own description, with the session cookie. */
export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });
api.use(inReadersLanguage);

/** The content of an answer (undefined where it has none). Throws `ProblemError` for every refusal. */
export async function call<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  if (response.status === 401 && !new URL(response.url).pathname.startsWith('/api/auth/')) onUnauthenticated();
  throw new ProblemError(asProblem(error, response.status));
}

/** A problem body, or a plain sentence when a proxy answered something else. */
export function asProblem(body: unknown, status: number): Problem {
  const found = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem> & { message?: string };
  const detail = found.detail ?? found.message;
  if (typeof detail === 'string') {
    return { ...found, status, code: found.code ?? 'unknown', title: found.title ?? detail, detail };
  }
  return { status, code: 'unknown', title: t('problem.unknownTitle'), detail: t('problem.unknown', { status }) };
}

/** The same for an answer that was read as text. */
export function parseProblem(text: string, status: number): Problem {
  try {
    return asProblem(JSON.parse(text), status);
  } catch {
    return asProblem(text, status);
  }
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
