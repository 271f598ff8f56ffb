import type { z } from 'zod';

/** An answer of an HTTP server. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly bytes: Buffer;
  readonly headers: Headers;
}

/** Longest wait for one answer. A run takes 30 s at most, and may wait for its sandbox. */
const ANSWER_MS = 120_000;

/** The JSON of an answer, or undefined when it has none of this shape. */
export function bodyOf<T>({ text }: Answer, shape: z.ZodType<T>): T | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** One request; whatever the status. Throws what the connection throws. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString('utf8');
  return { status: response.status, text, bytes, headers: response.headers };
}

/** Why a connection did not come about, in one word. */
export function networkReason(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? (error as Error).message;
}
