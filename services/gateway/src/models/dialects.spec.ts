import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkArguments } from '../tools/arguments.ts';
import { RUN_PYTHON } from '../tools/run-python.schema.ts';
import { modelAgent } from './model-client.ts';
import { OpenAiProvider } from './openai.provider.ts';
import type { ModelMessage } from './provider.types.ts';

/** One conversation, answered in the ways of different vendors: for the rest of Moli there is no difference between them. */

const CODE = 'import pandas as pd\nprint(pd.read_csv("a.csv")["销售额"].sum())';
const ARGUMENTS = JSON.stringify({ code: CODE });
const WORDS = '总销售额是 8250 元。';

/** How a vendor sends a call, and then, after its result, words. */
interface Dialect {
  call(response: ServerResponse): void;
  words(response: ServerResponse): void;
}

function stream(response: ServerResponse, deltas: object[], finish: string | null, newline = '\n', space = ' '): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const frames = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const end = finish === null ? [] : [{ choices: [{ index: 0, delta: {}, finish_reason: finish }] }];
  for (const frame of [...frames, ...end]) response.write(`data:${space}${JSON.stringify(frame)}${newline}${newline}`);
  response.end(`data:${space}[DONE]${newline}${newline}`);
}
const pieces = (text: string, size: number) => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
const json = (response: ServerResponse, message: object, finish: string) =>
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: finish }] }));
const whole = { id: 'call_1', type: 'function', function: { name: 'run_python', arguments: ARGUMENTS } };

const DIALECTS: Record<string, Dialect> = {
  OpenAI: {
    call: (response) =>
      stream(
        response,
        [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'run_python', arguments: '' } }],
          },
          ...pieces(ARGUMENTS, 5).map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
        ],
        'tool_calls',
      ),
    words: (response) =>
      stream(
        response,
        pieces(WORDS, 2).map((content) => ({ content })),
        'stop',
      ),
  },
  Ollama: {
    call: (response) =>
      stream(response, [{ role: 'assistant', content: '', tool_calls: [{ ...whole, index: 0 }] }], 'stop'),
    words: (response) => stream(response, [{ content: WORDS }], 'stop'),
  },
  'vLLM without a tool parser, Qwen': {
    call: (response) =>
      stream(
        response,
        pieces(`<tool_call>\n{"name": "run_python", "arguments": ${ARGUMENTS}}\n</tool_call>`, 4).map((content) => ({
          content,
        })),
        'stop',
      ),
    words: (response) =>
      stream(
        response,
        pieces(`<think>\n算好了\n</think>\n\n${WORDS}`, 3).map((content) => ({ content })),
        'stop',
      ),
  },
  'DashScope, not incremental': {
    call: (response) =>
      stream(
        response,
        pieces(ARGUMENTS, 20).map((_, i, all) => ({
          tool_calls: [
            {
              index: 0,
              id: i === 0 ? 'call_1' : '',
              function: { name: 'run_python', arguments: all.slice(0, i + 1).join('') },
            },
          ],
        })),
        'tool_calls',
        '\r\n',
        '',
      ),
    words: (response) =>
      stream(response, [{ reasoning_content: '想', content: '' }, { content: WORDS }], 'stop', '\r\n', ''),
  },
  'a relay that never streams': {
    call: (response) => json(response, { role: 'assistant', content: null, tool_calls: [whole] }, 'tool_calls'),
    words: (response) => json(response, { role: 'assistant', content: WORDS }, 'stop'),
  },
  'an old server with function_call': {
    call: (response) =>
      stream(
        response,
        [
          { function_call: { name: 'run_python', arguments: '' } },
          ...pieces(ARGUMENTS, 9).map((piece) => ({ function_call: { arguments: piece } })),
        ],
        'function_call',
      ),
    words: (response) => stream(response, [{ content: WORDS }], null),
  },
  'a relay that parses the arguments': {
    call: (response) =>
      stream(
        response,
        [{ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'run_python', arguments: { code: CODE } } }] }],
        'tool_calls',
      ),
    words: (response) => stream(response, [{ content: [{ type: 'text', text: WORDS }] }], 'stop'),
  },
};

let base = '';
const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
  let body = '';
  for await (const piece of request) body += piece;
  const { messages } = JSON.parse(body);
  const dialect = DIALECTS[decodeURIComponent(request.url!.split('/')[1]!)]!;
  if (messages.at(-1).role === 'tool') dialect.words(response);
  else dialect.call(response);
});
const agent = modelAgent();
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await agent.destroy();
  server.close();
});

describe.each(Object.keys(DIALECTS))('%s', (name) => {
  test('asks for the code, takes the result, answers in words', async () => {
    const provider = new OpenAiProvider({
      server: { baseUrl: `${base}/${encodeURIComponent(name)}/v1`, apiKey: '', model: 'm' },
      agent,
    });
    const question: ModelMessage[] = [{ role: 'user', content: '总销售额是多少？' }];
    const first = await provider.chat(question, [RUN_PYTHON]);
    expect(first).toMatchObject({ text: '', finishReason: 'tool_calls' });
    expect(first.calls).toHaveLength(1);
    const [call] = first.calls;
    expect(call!.name).toBe('run_python');
    expect(checkArguments(call!.arguments, RUN_PYTHON)).toEqual({ value: { code: CODE } });
    const second = await provider.chat(
      [
        ...question,
        { role: 'assistant', content: '', calls: first.calls },
        { role: 'tool', callId: call!.id, name: 'run_python', content: '8250' },
      ],
      [RUN_PYTHON],
    );
    expect(second).toMatchObject({ text: WORDS, calls: [], finishReason: 'stop' });
  });
});
