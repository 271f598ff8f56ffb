import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { answerStream, answerWhole } from './answer.ts';
import { type ChatRequest, chooseReply, type Reply, type Rule, type Script } from './script.ts';

export type { ChatRequest } from './script.ts';

export interface ModelServerOptions {
  readonly script: Script;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Address to listen on; loopback when absent. */
  readonly host?: string;
  /** Requests with another key get 401. Absent: every key is right. */
  readonly apiKey?: string;
  /** Other names get 404. Absent: every name is known, and `/v1/models` lists `scripted-demo`. */
  readonly models?: readonly string[];
}

/** A chat request as it arrived, and how it ended. */
export interface RecordedRequest {
  readonly at: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ChatRequest;
  /** The client left before the answer was complete. */
  aborted: boolean;
  /** The answer was sent to its end, as the script wants it. */
  finished: boolean;
}

export interface ModelServer {
  /** Base URL as a person would configure it, with `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Chat requests in the order of arrival. */
  readonly requests: RecordedRequest[];
  stop(): Promise<void>;
}

// A real server bounds a request too; far over what a full context window needs.
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * A server that speaks the OpenAI protocol and answers from a script: for tests, and as the demo's model, where it is labelled as
 * scripted. It understands nothing.
 */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const used = new Map<Rule, number>();
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (!path.startsWith('/v1/'))
      return respond(response, 404, '<!doctype html><title>Not here</title><h1>Not here</h1>');
    if (options.apiKey !== undefined && request.headers.authorization !== `Bearer ${options.apiKey}`) {
      return refuse(response, 401, 'invalid_api_key', 'Incorrect API key provided.');
    }
    const names = options.models ?? ['scripted-demo'];
    if (path === '/v1/models') {
      return respond(response, 200, {
        object: 'list',
        data: names.map((id) => ({ id, object: 'model', owned_by: 'moli' })),
      });
    }
    if (path !== '/v1/chat/completions' || request.method !== 'POST') {
      return refuse(response, 404, 'unknown_url', `Unknown request URL: ${request.method} ${path}.`);
    }
    const body = await readJson(request);
    if (!body || !Array.isArray(body.messages)) return refuse(response, 400, 'invalid_request', 'messages is missing.');
    if (options.models && !options.models.includes(body.model)) {
      return refuse(response, 404, 'model_not_found', `The model ${JSON.stringify(body.model)} does not exist.`);
    }
    const record: RecordedRequest = { at: Date.now(), headers: request.headers, body, aborted: false, finished: false };
    requests.push(record);
    const reply = chooseReply(options.script, body, used) ?? {
      status: 500,
      body: { error: { message: 'No rule of the script applies.', type: 'script_error', code: 'script_error' } },
    };
    await perform(response, body, reply, record);
  }

  const host = options.host ?? '127.0.0.1';
  server.listen(options.port ?? 0, host);
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  const port = (server.address() as { port: number }).port;
  return {
    url: `http://${host}:${port}/v1`,
    port,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function perform(
  response: ServerResponse,
  body: ChatRequest,
  reply: Reply,
  record: RecordedRequest,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => {
    record.aborted = !record.finished;
    left.abort();
  });
  try {
    if (reply.delayMs) await delay(reply.delayMs, undefined, { signal: left.signal });
    if ('status' in reply) {
      record.finished = true;
      respond(response, reply.status, reply.body, reply.headers);
    } else if ('sse' in reply) {
      await answerRecorded(response, reply, left.signal);
      record.finished = true;
      reply.cut ? breakOff(response) : response.end();
    } else {
      const answer = body.stream ? answerStream : answerWhole;
      const complete = await answer(response, body, reply, left.signal);
      record.finished = true;
      complete ? response.end() : breakOff(response);
    }
  } catch (error) {
    if (!left.signal.aborted) throw error;
  }
}

/** Closes the connection after what was written has left, without the end that the protocol wants. */
function breakOff(response: ServerResponse): void {
  response.socket?.destroySoon();
}

async function answerRecorded(
  response: ServerResponse,
  reply: { sse: string; piece?: number; delayMs?: number },
  left: AbortSignal,
) {
  const bytes = Buffer.from(reply.sse, 'utf8');
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const size = reply.piece ?? bytes.length;
  for (let at = 0; at < bytes.length; at += size) {
    left.throwIfAborted();
    response.write(bytes.subarray(at, at + size));
    if (reply.piece) await delay(reply.delayMs ?? 0, undefined, { signal: left });
  }
}

async function readJson(request: IncomingMessage): Promise<ChatRequest | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as ChatRequest;
  } catch {
    return undefined;
  }
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  respond(response, status, { error: { message, type: 'invalid_request_error', code } });
}

function respond(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(text);
}
