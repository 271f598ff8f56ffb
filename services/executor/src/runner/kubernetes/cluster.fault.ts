import { statusOf } from './cluster.api.ts';

/** What is wrong with the API server, or with Redis, in words for an operator. */
export function whyNot(error: unknown): string {
  if ((error as Error).name === 'ReplyError') return `Redis answers with an error: ${(error as Error).message}`;
  const status = statusOf(error);
  if (status === 429) return 'the Kubernetes API server answers 429 (too many requests)';
  if (status === 403) return 'the Kubernetes API server answers 403: the role of the executor lacks a permission';
  if (status === 401) return 'the Kubernetes API server answers 401: the token of the executor is not accepted';
  if (status !== null) return `the Kubernetes API server answers ${status}`;
  // What a client of the API throws for its connection has a cause.
  if (error instanceof TypeError && !error.cause)
    return `a fault of the executor itself, see its log: ${error.message}`;
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return `the Kubernetes API server does not answer (${cause?.code ?? name ?? 'unknown'})`;
}
