/** An answer of an HTTP server; `json` is undefined when the body is none. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many routes
  readonly json: any;
  readonly bytes: Buffer;
  readonly headers: Headers;
}

/** Longest wait for one answer. A run takes 30 s at most, and may wait for its sandbox. */
const ANSWER_MS = 120_000;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One request; whatever the status. Throws what the connection throws. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString('utf8');
  return { status: response.status, text, json: parsed(text), bytes, headers: response.headers };
}

/** Why a connection did not come about, in one word. */
export function networkReason(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? (error as Error).message;
}
