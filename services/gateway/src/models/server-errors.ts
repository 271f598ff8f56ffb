import type { AppError, ErrorCode } from '@moli/errors';
import { modelError } from './model-error.ts';

/** What is known about a refusal of a model server. */
export interface ServerRefusal {
  /** HTTP status, or the one inside an error frame of a 200 stream. */
  readonly status: number | undefined;
  readonly message: string;
  /** `code`, `type` and `param` of the error object, joined; '' when there are none. */
  readonly type: string;
  readonly retryAfterSeconds?: number | undefined;
  /** The model that was asked for, for sentences. */
  readonly model?: string | undefined;
}

/** How OpenAI, vLLM, Ollama, llama.cpp, DeepSeek, DashScope, Zhipu and Moonshot say that a request is too long. */
const OVERFLOW =
  /context[_ ](length|window|size)|maximum (context|model) len|max_model_len|longer than the (maximum|model)|exceeds? (the )?(available )?(context|maximum)|too many (input )?tokens|prompt is too long|(input|prompt|range of input) length|reduce the length|token.{0,20}超|超.{0,12}(长度|token|上下文)|string_above_max/i;
const AUTH =
  /(api|access)[-_ ]?key|invalid_authentication|unauthori[sz]ed|authentication|permission_denied|密钥|身份验证|令牌/i;
const NO_MODEL =
  /model[_ ]?not[_ ]?(found|exist|available|supported)|model .{0,120}(does ?n[o']t exist|not found|not exist|is not available|is not a valid)|no such model|unknown model|invalid model|try pulling it|deploymentnotfound|模型不存在|InvalidEndpointOrModel/i;
const FILTERED =
  /content[_ ]?(filter|policy|management)|data_inspection|inappropriate content|sensitive|safety system|moderation|内容安全|敏感|违规/i;
const NO_MONEY =
  /insufficient[_ ](quota|balance|user_quota)|balance|billing|arrear|exceeded your current quota|余额|欠费/i;
const NO_TOOLS =
  /(does not|doesn't|not) support (tool|function)|tool[-_ ]call(ing|s)? (is |are )?not (supported|enabled)|tool choice requires|--enable-auto-tool-choice/i;

/** An error frame inside a stream that had begun with 200. */
export const errorOfFrame = (error: { message: string; type: string; status: number | undefined }): AppError =>
  errorOfRefusal({ ...error, status: error.status });

/** The AppError for a refusal; each sentence says what to do. */
export function errorOfRefusal(refusal: ServerRefusal): AppError {
  const { status, message, type, model = '' } = refusal;
  const words = `${type} ${message}`;
  const say = (code: ErrorCode, zh: string, en: string): AppError =>
    modelError(code, zh, en, { server: message, httpStatus: status, retryAfterSeconds: refusal.retryAfterSeconds });
  const clientFault = status === undefined || (status >= 400 && status < 500);

  if (status === 413 || (clientFault && status !== 429 && OVERFLOW.test(words))) {
    return say(
      'context_overflow',
      '内容超出了模型的上下文长度。请开始新会话、缩短问题，或换一个上下文更长的模型。',
      'This is longer than the context of the model. Start a new session, shorten the question, or choose a model with a longer context.',
    );
  }
  if (clientFault && (status === 402 || NO_MONEY.test(words))) {
    return say(
      'model_refused',
      '模型服务的账户额度或余额不足。请充值或更换密钥。',
      'The account at the model server has no quota or money left. Top it up or use another key.',
    );
  }
  if (status === 401 || (status === 400 && AUTH.test(words) && !NO_MODEL.test(words))) {
    return say(
      'model_auth',
      '模型服务拒绝了密钥。请在模型设置里检查密钥是否完整、是否属于这个服务地址。',
      'The model server refused the key. Check in the model settings that the key is complete and belongs to this address.',
    );
  }
  if (clientFault && FILTERED.test(words)) {
    return say(
      'model_refused',
      '模型服务的内容审核拒绝了这个请求。请换一种说法，或去掉敏感内容后再试。',
      'The content filter of the model server refused this request. Put it differently, or leave the sensitive part out.',
    );
  }
  if (clientFault && NO_MODEL.test(words)) {
    return say(
      'model_not_found',
      `模型服务没有名为“${model || '所填名称'}”的模型，或密钥无权使用它。请在模型设置里核对名称。`,
      `The model server has no model named "${model || 'as configured'}", or the key may not use it. Check the name in the model settings.`,
    );
  }
  if (status === 403) {
    return say(
      'model_auth',
      '模型服务不允许这个密钥做此操作。请检查密钥的权限、地区限制或 IP 白名单。',
      'The model server does not allow this key to do that. Check its permissions, region or list of allowed addresses.',
    );
  }
  if (clientFault && NO_TOOLS.test(words)) {
    return say(
      'model_refused',
      '这个模型或服务不支持工具调用，无法运行代码。请换一个支持工具调用的模型，或在服务端打开工具调用（vLLM：--enable-auto-tool-choice）。',
      'This model or server does not support tool calls, so it cannot run code. Choose a model that does, or switch tool calls on at the server (vLLM: --enable-auto-tool-choice).',
    );
  }
  if (status === 429) {
    const wait = refusal.retryAfterSeconds;
    return say(
      'model_overloaded',
      wait ? `模型服务限制了请求频率，请在 ${wait} 秒后重试。` : '模型服务限制了请求频率，请稍后重试。',
      wait
        ? `The model server limits how often it may be asked; try again in ${wait} s.`
        : 'The model server limits how often it may be asked; try again later.',
    );
  }
  if (status === 404 || status === 405) {
    return say(
      'model_unreachable',
      '模型服务没有这个地址。请检查服务地址（base URL），通常以 /v1 结尾。',
      'The model server has nothing at this address. Check the base URL; it usually ends with /v1.',
    );
  }
  if (status === undefined || status >= 500) {
    return say(
      status === 503 || status === 529 ? 'model_overloaded' : 'model_failed',
      '模型服务出错，没有完成回答。请稍后重试；若持续出现，请查看模型服务的状态。',
      'The model server failed and did not finish the answer. Try again later; if it lasts, look at the state of the model server.',
    );
  }
  return say(
    'model_refused',
    `模型服务不接受这个请求（HTTP ${status}）。请检查模型名称和模型设置。`,
    `The model server did not accept the request (HTTP ${status}). Check the name of the model and the model settings.`,
  );
}

/** Seconds from a `Retry-After` header (number or date), at most an hour; undefined when it says nothing usable. */
export function retryAfter(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!text) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000;
  if (!Number.isFinite(seconds)) return undefined;
  return Math.min(3600, Math.max(0, Math.ceil(seconds)));
}
