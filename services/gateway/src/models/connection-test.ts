import { AppError, type Locale, problemOf } from '@moli/errors';
import type { Agent } from 'undici';
import { MODEL_TIMEOUTS, type ModelServer } from './model-client.ts';
import { modelError } from './model-error.ts';
import type { ModelTestAnswer } from './models.schema.ts';
import { OpenAiProvider } from './openai.provider.ts';
import type { ModelTool } from './provider.types.ts';

/** A person waits for this: shorter than a turn's own limits, still enough for a local model that has to be loaded. */
const TIMEOUTS = { ...MODEL_TIMEOUTS, headersMs: 60_000, idleMs: 30_000 };
/** Names listed to choose from. */
const MODELS_SHOWN = 200;

const ECHO: ModelTool = {
  name: 'report_ready',
  description: 'Report that the connection works.',
  parameters: {
    type: 'object',
    properties: { word: { type: 'string', description: 'The word "ready".' } },
    required: ['word'],
  },
};

/**
 * Asks the server for one tiny answer with a tool offered, the way a turn does, and says what came: works, works without tools, or which of
 * the usual things is wrong. The list of models, where the server has one, helps with a wrong name.
 */
export async function testConnection(
  server: ModelServer,
  agent: Agent,
  locale: Locale,
  signal?: AbortSignal,
): Promise<ModelTestAnswer> {
  const started = performance.now();
  let provider: OpenAiProvider;
  try {
    provider = new OpenAiProvider({ server, agent, timeouts: TIMEOUTS, backOffMs: [] });
  } catch (thrown) {
    return { ok: false, problem: problemFor(thrown, locale) };
  }
  const options = { maxTokens: 2048, ...(signal ? { signal } : {}) };
  try {
    const answer = await provider.chat(
      [{ role: 'user', content: 'This is a connection test. Call the tool report_ready with the word "ready".' }],
      [ECHO],
      options,
    );
    const models = await listed(provider, signal);
    const called = answer.calls.some((call) => call.name === ECHO.name);
    return {
      ok: true,
      latencyMs: Math.round(performance.now() - started),
      reply: answer.text.trim().slice(0, 200).toWellFormed(),
      tools: called,
      ...(called ? {} : { problem: { ...problemOf(noToolCall(), locale), title: NO_TOOL_CALL[locale] } }),
      ...(models ? { models } : {}),
    };
  } catch (thrown) {
    signal?.throwIfAborted();
    const models = await listed(provider, signal);
    return {
      ok: false,
      latencyMs: Math.round(performance.now() - started),
      problem: problemFor(withNames(thrown, server.model, models), locale),
      ...(models ? { models } : {}),
    };
  }
}

async function listed(provider: OpenAiProvider, signal: AbortSignal | undefined): Promise<string[] | undefined> {
  const limit = AbortSignal.timeout(5000);
  try {
    const names = await provider.client.models(signal ? AbortSignal.any([signal, limit]) : limit);
    return names?.slice(0, MODELS_SHOWN);
  } catch {
    return undefined;
  }
}

function problemFor(thrown: unknown, locale: Locale): NonNullable<ModelTestAnswer['problem']> {
  if (!(thrown instanceof AppError)) throw thrown;
  const { code, title, detail, ...rest } = problemOf(thrown, locale);
  return { ...rest, code, title, detail };
}

/** An unknown model is easiest to put right with the names that there are. */
function withNames(thrown: unknown, model: string, models: readonly string[] | undefined): unknown {
  if (!(thrown instanceof AppError) || thrown.code !== 'model_not_found' || !models?.length) return thrown;
  const some = models.slice(0, 10).join(', ');
  return modelError(
    'model_not_found',
    `模型服务没有名为“${model}”的模型。可用的有：${some}。`,
    `The model server has no model named "${model}". It has: ${some}.`,
    { cause: thrown },
  );
}

/** In place of the code's own title: the server refused nothing. */
const NO_TOOL_CALL: Readonly<Record<Locale, string>> = {
  zh: '能聊天，但没有调用工具',
  en: 'It can chat, but called no tool',
};

const noToolCall = (): AppError =>
  modelError(
    'model_refused',
    '连接正常，但模型没有按要求调用工具，可能不支持工具调用：它能聊天，但可能无法运行代码。建议换一个支持工具调用的模型。',
    'The connection works, but the model did not call the tool it was asked to call. It may not support tools: it can chat, but perhaps not run code. A model with tool calls is advised.',
  );
