import type { AppError } from '@moli/errors';
import type { Answer, ModelClient } from './model-client.ts';
import { cutError, modelError } from './model-error.ts';
import type { ModelEvent } from './provider.types.ts';
import { SsePayloads, sniffBody } from './sse-payloads.ts';
import type { StreamAssembler } from './stream-assembler.ts';

/** After the reason for the end only the usage may follow; servers that never close get no longer than this. */
const TAIL_MS = 3000;
/** An answer that comes in one piece, in bytes. */
const BODY_LIMIT = 16 * 1024 * 1024;

/** Reads the body of one answer into an assembler, by what it is and not by what its content type claims. */
export class AnswerReader {
  readonly #client: ModelClient;
  readonly #idleMs: number;

  constructor(client: ModelClient, idleMs: number) {
    this.#client = client;
    this.#idleMs = idleMs;
  }

  /** Events of the body, whatever it turns out to be: a stream, a whole JSON answer, or a web page. */
  async *read(answer: Answer, assembler: StreamAssembler): AsyncGenerator<ModelEvent[]> {
    const idleMs = () => (assembler.finishSeen ? Math.min(TAIL_MS, this.#idleMs) : this.#idleMs);
    const payloads = new SsePayloads();
    const head: Buffer[] = [];
    let kind: ReturnType<typeof sniffBody>;
    for await (const piece of pieces(answer, idleMs)) {
      if (kind === 'events') yield payloads.push(piece).flatMap((payload) => assembler.push(payload));
      else {
        head.push(piece);
        if (head.reduce((sum, part) => sum + part.length, 0) > BODY_LIMIT) throw this.#notAModel('other', '');
        kind ??= sniffBody(Buffer.concat(head).toString('utf8'));
        if (kind === 'html' || kind === 'other') throw this.#notAModel(kind, Buffer.concat(head).toString('utf8'));
        if (kind === 'events') yield payloads.push(Buffer.concat(head)).flatMap((payload) => assembler.push(payload));
      }
      if (assembler.ended) return;
    }
    if (kind === 'json') yield this.#whole(Buffer.concat(head).toString('utf8'), assembler);
    // A frame without its blank line counts when it is whole; half a frame is a cut.
    else
      for (const payload of payloads.end()) if (payload === '[DONE]' || isJson(payload)) yield assembler.push(payload);
  }

  #whole(text: string, assembler: StreamAssembler): ModelEvent[] {
    let events: ModelEvent[] = [];
    if (isJson(text)) events = assembler.push(text);
    else throw this.#notAModel('other', text);
    if (!assembler.ended) assembler.push('[DONE]');
    return events;
  }

  #notAModel(kind: 'html' | 'other', head: string): AppError {
    return kind === 'html'
      ? modelError(
          'model_bad_answer',
          `${this.#client.endpoint.shown} 返回的是网页（HTML），不是模型接口。请检查服务地址，通常以 /v1 结尾。`,
          `${this.#client.endpoint.shown} answers with a web page (HTML), not as a model server. Check the base URL; it usually ends with /v1.`,
        )
      : modelError(
          'model_bad_answer',
          `${this.#client.endpoint.shown} 的回答不是 OpenAI 协议。请检查服务地址指向的是模型接口。`,
          `${this.#client.endpoint.shown} does not answer in the OpenAI protocol. Check that the address is that of a model server.`,
          { server: this.#client.scrub(head.slice(0, 500)) },
        );
  }

  /** The fault of a body that broke off before its end. */
  faultOfBreak(thrown: unknown): AppError {
    if (thrown instanceof IdleTimeout) {
      return modelError(
        'model_timeout',
        `模型服务超过 ${Math.round(this.#idleMs / 1000)} 秒没有继续回答，已收到的部分保留。可以点“继续”，或稍后重试。`,
        `The model server sent nothing for ${Math.round(this.#idleMs / 1000)} s; what had arrived is kept. Use "continue" or try again later.`,
        { cause: thrown },
      );
    }
    return cutError(thrown);
  }
}

class IdleTimeout extends Error {}

/** The pieces of a body; breaks with IdleTimeout when the next one takes longer than `idleMs` says at that moment. */
async function* pieces(answer: Answer, idleMs: () => number): AsyncGenerator<Buffer> {
  let waiting = true;
  let waitMs = idleMs();
  const over = (): void => {
    // The consumer was busy: the server is not to blame.
    if (waiting) answer.body.destroy(new IdleTimeout());
  };
  // Started anew for each piece rather than made anew: there are thousands a second.
  let timer = setTimeout(over, waitMs);
  try {
    for await (const piece of answer.body.iterator({ destroyOnReturn: false })) {
      waiting = false;
      yield piece as Buffer;
      waiting = true;
      if (idleMs() === waitMs) timer.refresh();
      else {
        clearTimeout(timer);
        waitMs = idleMs();
        timer = setTimeout(over, waitMs);
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Lets the few bytes after [DONE] pass, so that the connection can be used again. */
export function drain(answer: Answer): void {
  const timer = setTimeout(() => answer.body.destroy(), 1000);
  answer.body.once('close', () => clearTimeout(timer));
  answer.body.resume();
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
