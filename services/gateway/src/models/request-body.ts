import { parseExact } from './exact-json.ts';
import type { ChatOptions, ModelCall, ModelMessage, ModelTool } from './provider.types.ts';

/** What a server turned out not to understand; learnt from its refusals. */
export interface Quirks {
  /** Refuses `stream_options`. */
  noStreamOptions: boolean;
  /** Wants `max_completion_tokens` in place of `max_tokens`, or the other way round. */
  swapMaxTokens: boolean;
}

/** Models that need their own thinking back while a chain of calls goes on, and whose servers take the field. */
const REPLAYS_REASONING = /deepseek|kimi|moonshot|glm|mimo|minimax|qwen|qwq/i;
/** OpenAI's reasoning models refuse `max_tokens`. */
const COMPLETION_TOKENS = /^(o\d|gpt-5)/i;

/** The JSON body of a chat request. */
export function requestBody(
  model: string,
  messages: readonly ModelMessage[],
  tools: readonly ModelTool[],
  options: ChatOptions & { stream: boolean; quirks: Quirks },
): string {
  const { stream, quirks, maxTokens } = options;
  const limitField = COMPLETION_TOKENS.test(model) !== quirks.swapMaxTokens ? 'max_completion_tokens' : 'max_tokens';
  return JSON.stringify({
    model,
    messages: wireMessages(model, messages),
    ...(tools.length > 0 ? { tools: tools.map(openAiFunction) } : {}),
    ...(maxTokens === undefined ? {} : { [limitField]: maxTokens }),
    stream,
    ...(stream && !quirks.noStreamOptions ? { stream_options: { include_usage: true } } : {}),
  });
}

/** A tool in the form of OpenAI's function calling. */
export function openAiFunction(tool: ModelTool): {
  type: 'function';
  function: { name: string; description: string; parameters: ModelTool['parameters'] };
} {
  return {
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: tool.parameters },
  };
}

function wireMessages(model: string, messages: readonly ModelMessage[]): object[] {
  const lastQuestion = messages.findLastIndex((message) => message.role === 'user');
  const replays = REPLAYS_REASONING.test(model);
  return messages.map((message, i) => {
    if (message.role === 'tool') return { role: 'tool', tool_call_id: message.callId, content: message.content };
    if (message.role !== 'assistant') return { role: message.role, content: message.content };
    const calls = message.calls ?? [];
    // Only inside the running chain of calls: older servers refuse the field, newer ones need it exactly there.
    const reasoning = replays && calls.length > 0 && i > lastQuestion ? message.reasoning : undefined;
    return {
      role: 'assistant',
      content: message.content,
      ...(reasoning ? { reasoning_content: reasoning } : {}),
      ...(calls.length > 0 ? { tool_calls: calls.map(wireCall) } : {}),
    };
  });
}

function wireCall(call: ModelCall): object {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: objectText(call.arguments) } };
}

/** Chat templates parse the arguments of earlier calls and fail on anything but an object, so a broken text is wrapped. */
function objectText(text: string): string {
  try {
    const value = parseExact(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return text;
  } catch {}
  return JSON.stringify({ raw: text });
}
