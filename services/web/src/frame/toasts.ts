import { ref } from 'vue';
import { problemOf } from '../api/client.ts';

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'plain' | 'danger';
  readonly action?: { label: string; run(): void };
}

export const toasts = ref<Toast[]>([]);
let nextId = 1;

/** A short note at the bottom of the window; it leaves by itself after `ms`. Answers a function that takes it away at once. */
export function showToast(
  text: string,
  options: { tone?: Toast['tone']; action?: Toast['action']; ms?: number } = {},
): () => void {
  const id = nextId++;
  toasts.value.push({ id, text, tone: options.tone ?? 'plain', action: options.action });
  const close = () => dismissToast(id);
  window.setTimeout(close, options.ms ?? 5000);
  return close;
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Shows why something was refused, in the server's words. */
export function showProblem(error: unknown): void {
  showToast(problemOf(error).detail, { tone: 'danger', ms: 8000 });
}
