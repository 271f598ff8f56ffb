import { statusOf } from './cluster.api.ts';

/** What is wrong with the API server, or with Redis, in words for an operator. */
export function whyNot(error: unknown): string {
  if ((error as Error).name === 'ReplyError') return `Redis answers with an error: ${(error as Error).message}`;
  const status = statusOf(error);
  if (status === 429) return 'the Kubernetes API server answers 429 (too many requests)';
  if (status === 403) return 'the Kubernetes API server answers 403: the role of the executor lacks a permission';
  if (status === 401) return 'the Kubernetes API server answers 401: the token of the executor is not accepted';
  if (status !== null) return `the Kubernetes API server answers ${status}`;
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return `the Kubernetes API server does not answer (${cause?.code ?? name ?? 'unknown'})`;
}
