import { AppError } from '@moli/errors';
import { Agent, type Dispatcher, errors, request } from 'undici';
import { readErrorFrame } from './chunk.ts';
import { type Endpoint, keyHeaders, readEndpoint } from './endpoint.ts';
import { modelConnector } from './model-connector.ts';
import { modelError, scrub } from './model-error.ts';
import { errorOfRefusal, retryAfter } from './server-errors.ts';
import { sniffBody } from './sse-payloads.ts';

/** How long each step of a request may take, in milliseconds. */
export interface ModelTimeouts {
  readonly connectMs: number;
  /** Until the first byte of the answer: a local server may have to load the model first. */
  readonly headersMs: number;
  /** Between two pieces of a stream. */
  readonly idleMs: number;
}
export const MODEL_TIMEOUTS: ModelTimeouts = { connectMs: 10_000, headersMs: 120_000, idleMs: 60_000 };

export interface ModelServer {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** How much of a refusal's body is read, in bytes. */
const REFUSAL_LIMIT = 64 * 1024;
/** And of a list of models. */
const LIST_LIMIT = 4 * 1024 * 1024;
/** How long a refusal or a list of models may take to arrive after its headers. */
const BODY_WAIT_MS = 5000;
export type Answer = Dispatcher.ResponseData;

/** Connections of one process to model servers, shared by all tenants; kept alive between requests. */
export function modelAgent(timeouts: ModelTimeouts = MODEL_TIMEOUTS): Agent {
  return new Agent({
    connect: modelConnector(timeouts.connectMs),
    headersTimeout: timeouts.headersMs,
    // Streams have their own timer for each piece.
    bodyTimeout: 0,
  });
}

/** Speaks HTTP with one model server: finds the right path once, turns every failure into an AppError. */
export class ModelClient {
  readonly endpoint: Endpoint;
  readonly #server: ModelServer;
  readonly #agent: Agent;
  readonly #bodyWaitMs: number;
  /** Index of the address that answered; unknown before the first answer. */
  #good: number | undefined;

  constructor(server: ModelServer, agent: Agent, timeouts: ModelTimeouts = MODEL_TIMEOUTS) {
    this.#bodyWaitMs = Math.min(BODY_WAIT_MS, timeouts.idleMs);
    this.#server = server;
    this.#agent = agent;
    this.endpoint = readEndpoint(server.baseUrl, server.model);
  }

  /** Sends a chat request; answers with a 2xx that is not a web page, or throws. */
  async chat(body: string, signal?: AbortSignal): Promise<Answer> {
    const urls = this.endpoint.chatUrls;
    const order = this.#good === undefined ? [...urls.keys()] : [this.#good];
    let first: AppError | undefined;
    for (const i of order) {
      const { answer, fault, wrongAddress } = await this.#ask('POST', urls[i]!, body, signal);
      if (answer) {
        this.#good = i;
        return answer;
      }
      if (!wrongAddress) throw fault;
      first ??= fault;
    }
    throw first!;
  }

  /** Names of the models that the server lists; undefined when it has no such list. */
  async models(signal?: AbortSignal): Promise<string[] | undefined> {
    for (const url of this.endpoint.modelUrls) {
      const { answer } = await this.#ask('GET', url, undefined, signal);
      if (!answer) continue;
      try {
        const list = JSON.parse(await readBounded(answer, LIST_LIMIT, this.#bodyWaitMs)) as {
          data?: unknown;
          models?: unknown;
        };
        const entries = Array.isArray(list.data) ? list.data : Array.isArray(list.models) ? list.models : undefined;
        const names = entries?.map((entry: { id?: unknown; name?: unknown }) => entry?.id ?? entry?.name);
        if (names) return names.filter((name): name is string => typeof name === 'string');
      } catch {}
    }
    return undefined;
  }

  async #ask(
    method: 'GET' | 'POST',
    url: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ answer?: Answer; fault?: AppError; wrongAddress?: boolean }> {
    const headers = {
      accept: body ? 'text/event-stream, application/json' : 'application/json',
      'user-agent': 'moli',
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...keyHeaders(this.endpoint, this.#server.apiKey),
    };
    let answer: Answer;
    try {
      answer = await request(url, {
        method,
        headers,
        body: body ?? null,
        signal: signal ?? null,
        dispatcher: this.#agent,
      });
    } catch (thrown) {
      signal?.throwIfAborted();
      return { fault: this.faultOfTransport(thrown) };
    }
    // A body that is thrown away reports that as an error, which without a listener would end the process.
    answer.body.on('error', () => {});
    if (answer.statusCode >= 200 && answer.statusCode < 300) {
      if (!/text\/html/i.test(String(answer.headers['content-type'] ?? ''))) return { answer };
      answer.body.destroy();
      return { fault: this.#webPage(), wrongAddress: true };
    }
    return this.#refusal(answer);
  }

  async #refusal(answer: Answer): Promise<{ fault: AppError; wrongAddress: boolean }> {
    const status = answer.statusCode;
    if (status >= 300 && status < 400) {
      answer.body.destroy();
      const target = scrub(String(answer.headers.location ?? ''));
      return {
        wrongAddress: true,
        fault: modelError(
          'model_unreachable',
          `模型服务地址被转向到 ${target || '别处'}。请把服务地址直接填成转向后的地址。`,
          `The address of the model server redirects to ${target || 'another place'}. Put that address into the model settings.`,
          { httpStatus: status },
        ),
      };
    }
    const text = await readBounded(answer, REFUSAL_LIMIT, this.#bodyWaitMs);
    if (sniffBody(text) === 'html' && (status === 404 || status === 405))
      return { fault: this.#webPage(), wrongAddress: true };
    const error = parseRefusal(text);
    const fault = errorOfRefusal({
      status,
      message: this.scrub(error.message),
      type: error.type,
      retryAfterSeconds: retryAfter(answer.headers['retry-after'], Date.now()),
      model: this.#server.model,
    });
    return { fault, wrongAddress: fault.code === 'model_unreachable' };
  }

  #webPage(): AppError {
    return modelError(
      'model_bad_answer',
      `${this.endpoint.shown} 返回的是网页（HTML），不是模型接口。请检查服务地址，通常以 /v1 结尾。`,
      `${this.endpoint.shown} answers with a web page (HTML), not as a model server. Check the base URL; it usually ends with /v1.`,
    );
  }

  /** A server's words without our key. */
  scrub(text: string): string {
    return scrub(text, [this.#server.apiKey]);
  }

  /** The AppError for a socket that failed, could not be opened, or took too long. */
  faultOfTransport(thrown: unknown): AppError {
    if (thrown instanceof AppError) return thrown;
    const cause = rootCause(thrown);
    if (thrown instanceof errors.HeadersTimeoutError || thrown instanceof errors.BodyTimeoutError) {
      return modelError(
        'model_timeout',
        '模型服务迟迟没有开始回答。请稍后重试；若是本地模型，请确认它已加载完成。',
        'The model server did not begin to answer in time. Try again later; if it is a local model, see that it has finished loading.',
        { cause: thrown },
      );
    }
    const where = this.endpoint.shown;
    const word = transportWord(cause);
    return modelError(
      'model_unreachable',
      `连不上模型服务 ${where}（${word.zh}）。请检查地址、端口和网络。`,
      `The model server at ${where} cannot be reached (${word.en}). Check the address, the port and the network.`,
      { cause: thrown },
    );
  }
}

/** At most `limit` bytes of a body as text, as far as they come in time; the rest is thrown away with the connection. */
async function readBounded(answer: Answer, limit: number, waitMs: number): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => answer.body.destroy(), waitMs);
  try {
    for await (const piece of answer.body) {
      pieces.push(piece as Buffer);
      size += (piece as Buffer).length;
      if (size >= limit) break;
    }
  } catch {
    // What did come may still say what is wrong.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).subarray(0, limit).toString('utf8');
}

function parseRefusal(text: string): { message: string; type: string } {
  try {
    const body: unknown = JSON.parse(text);
    const error = readErrorFrame(Array.isArray(body) ? body[0] : body);
    if (error) return error;
  } catch {}
  return { message: sniffBody(text) === 'html' ? '' : text, type: '' };
}

function rootCause(thrown: unknown): { code?: string } {
  let cause = thrown as { cause?: unknown; errors?: unknown[]; code?: string };
  for (let depth = 0; depth < 5; depth++) {
    const inner = (cause?.errors?.[0] ?? cause?.cause) as typeof cause | undefined;
    if (!inner) break;
    cause = inner;
  }
  return cause ?? {};
}

function transportWord({ code = '' }: { code?: string }): { zh: string; en: string } {
  switch (code) {
    case 'ECONNREFUSED':
      return { zh: '连接被拒绝，服务可能没有启动', en: 'connection refused; it may not be running' };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { zh: '域名无法解析', en: 'the host name cannot be resolved' };
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return { zh: '连接超时', en: 'the connection timed out' };
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
    case 'EPIPE':
      return { zh: '连接被对方断开', en: 'the connection was closed by the other side' };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { zh: '网络不可达', en: 'the network cannot be reached' };
    default:
      if (/CERT|SSL|TLS|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/.test(code))
        return { zh: `证书有问题：${code}`, en: `its certificate is not accepted: ${code}` };
      if (code === 'HPE_INVALID_CONSTANT' || code.startsWith('HPE_'))
        return { zh: '对方说的不是 HTTP', en: 'the other side does not speak HTTP' };
      return { zh: code || '网络错误', en: code || 'network error' };
  }
}
