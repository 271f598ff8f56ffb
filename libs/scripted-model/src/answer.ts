import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChatRequest, type Step, textOf } from './script.ts';

interface ScriptedAnswer {
  readonly steps: readonly Step[];
  readonly finishReason?: string | null;
}

type CallStep = Extract<Step, { call: unknown }>;

/** Streams an answer as `chat.completion.chunk` events. False: the script breaks the connection. Throws when the client left. */
export async function answerStream(
  response: ServerResponse,
  request: ChatRequest,
  answer: ScriptedAnswer,
  left: AbortSignal,
): Promise<boolean> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  const head = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1000),
    model: request.model,
  };
  const send = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  const delta = (part: object, finish: string | null = null) =>
    send({ ...head, choices: [{ index: 0, delta: part, finish_reason: finish }] });
  delta({ role: 'assistant', content: '' });
  let calls = 0;
  for (const step of answer.steps) {
    left.throwIfAborted();
    if ('cut' in step) return false;
    if ('hang' in step) await new Promise((_resolve, reject) => left.addEventListener('abort', reject, { once: true }));
    else if ('waitMs' in step) await delay(step.waitMs, undefined, { signal: left });
    else if ('text' in step) await inPieces(step.text, { piece: 3, ...step }, left, (text) => delta({ content: text }));
    else if ('reasoning' in step)
      await inPieces(step.reasoning, { piece: 3, ...step }, left, (text) => delta({ reasoning_content: text }));
    else await streamCall(step, calls++, left, delta);
  }
  if (answer.finishReason === null) return true;
  delta({}, answer.finishReason ?? (calls > 0 ? 'tool_calls' : 'stop'));
  if (request.stream_options?.include_usage) send({ ...head, choices: [], usage: usageOf(request, answer) });
  response.write('data: [DONE]\n\n');
  return true;
}

async function streamCall(
  step: CallStep,
  order: number,
  left: AbortSignal,
  delta: (part: object) => void,
): Promise<void> {
  const index = step.call.index ?? order;
  const text = argumentsText(step);
  const start = { index, id: callId(step), type: 'function' };
  if (!step.piece) return delta({ tool_calls: [{ ...start, function: { name: step.call.name, arguments: text } }] });
  delta({ tool_calls: [{ ...start, function: { name: step.call.name, arguments: '' } }] });
  await inPieces(text, step, left, (piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] }));
}

/** Answers without streaming. False: the script breaks the connection before the answer is out. */
export async function answerWhole(
  response: ServerResponse,
  request: ChatRequest,
  answer: ScriptedAnswer,
  left: AbortSignal,
): Promise<boolean> {
  for (const step of answer.steps) {
    if ('cut' in step) return false;
    if ('hang' in step) await new Promise((_resolve, reject) => left.addEventListener('abort', reject, { once: true }));
    if ('waitMs' in step) await delay(step.waitMs, undefined, { signal: left });
  }
  const calls = answer.steps.filter((step): step is CallStep => 'call' in step);
  const join = (name: 'text' | 'reasoning') =>
    answer.steps.map((step) => (step as Record<string, unknown>)[name] ?? '').join('');
  const message = {
    role: 'assistant',
    content: join('text') || null,
    ...(join('reasoning') ? { reasoning_content: join('reasoning') } : {}),
    ...(calls.length > 0 ? { tool_calls: calls.map(wholeCall) } : {}),
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(
    JSON.stringify({
      id: `chatcmpl-${randomUUID()}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model: request.model,
      choices: [
        { index: 0, message, finish_reason: answer.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop') },
      ],
      usage: usageOf(request, answer),
    }),
  );
  return true;
}

function wholeCall(step: CallStep): object {
  return { id: callId(step), type: 'function', function: { name: step.call.name, arguments: argumentsText(step) } };
}

function callId(step: CallStep): string {
  return step.call.id ?? `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

function argumentsText(step: CallStep): string {
  return typeof step.call.arguments === 'string' ? step.call.arguments : JSON.stringify(step.call.arguments);
}

/** Cuts between code points: what a tokenizer does inside them belongs to a recorded stream (`sse`). */
async function inPieces(
  text: string,
  how: { piece?: number; delayMs?: number },
  left: AbortSignal,
  send: (piece: string) => void,
): Promise<void> {
  const points = [...text];
  const size = how.piece ?? points.length;
  for (let at = 0; at < points.length; at += size) {
    left.throwIfAborted();
    send(points.slice(at, at + size).join(''));
    if (how.delayMs) await delay(how.delayMs, undefined, { signal: left });
  }
}

/** Rough counts: a token for every 3 bytes of UTF-8, near to what tokenizers give for mixed Chinese and English. */
function usageOf(request: ChatRequest, answer: ScriptedAnswer): object {
  const tokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 3);
  const prompt = tokens(request.messages.map(textOf).join('') + JSON.stringify(request.tools ?? []));
  const completion = tokens(answer.steps.map((step) => JSON.stringify(step)).join(''));
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
