import { AppError, type ErrorCode } from '@moli/errors';

/** Longest piece of a model server's own message that is passed on, in characters. */
const MESSAGE_LIMIT = 300;

interface Extra {
  /** The server's own words; bounded and without secrets once they are in the error. */
  readonly server?: string | undefined;
  readonly httpStatus?: number | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** An error of a model server: what happened and what to do, then the server's own words. */
export function modelError(code: ErrorCode, zh: string, en: string, extra: Extra = {}): AppError {
  const server = extra.server ? scrub(extra.server) : '';
  return new AppError(
    code,
    {
      zh: server ? `${zh}服务器原话：${server}` : zh,
      en: server ? `${en} The server said: ${server}` : en,
    },
    {
      fields: {
        ...(server ? { serverMessage: server } : {}),
        ...(extra.httpStatus === undefined ? {} : { httpStatus: extra.httpStatus }),
      },
      retryAfterSeconds: extra.retryAfterSeconds,
      cause: extra.cause,
    },
  );
}

/** A server's message fit to be shown: one line, bounded, without anything that looks like a key or a password. */
export function scrub(message: string, secrets: readonly string[] = []): string {
  let text = message;
  for (const secret of secrets) if (secret.length >= 4) text = text.replaceAll(secret, '***');
  text = text
    .replace(/\b(?:sk|pk|ak|key|moli|ghp|xai|gsk|AIza)[-_]?[\w*-]{12,}/gi, '***')
    .replace(/\b(bearer|basic)\s+[\w.~+/=*-]{6,}/gi, '$1 ***')
    .replace(/((?:api[-_ ]?key|token|secret|password)["']?\s*[:=]\s*["']?)[^\s"',}]{4,}/gi, '$1***')
    .replace(/(https?:\/\/)[^\s/@]+@/gi, '$1***@')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal or a page
    .replace(/[\u0000-\u001f\u007f\s]+/g, ' ')
    .trim()
    .toWellFormed();
  return text.length > MESSAGE_LIMIT ? `${text.slice(0, MESSAGE_LIMIT).toWellFormed()}…` : text;
}

export const cutError = (cause?: unknown): AppError =>
  modelError(
    'model_cut',
    '模型的回答在中途断开，已收到的部分保留。可以点“继续”，或重新提问。',
    'The answer of the model broke off in the middle; what had arrived is kept. Use "continue" or ask again.',
    { cause },
  );

export const emptyError = (thoughtOnly: boolean, cutByLength: boolean): AppError => {
  if (thoughtOnly && cutByLength) {
    return modelError(
      'model_bad_answer',
      '模型把允许的长度都用在了思考上，没有给出回答（empty answer）。请提高回答长度上限，或把问题拆小。',
      'The model spent its whole allowed length on thinking and gave an empty answer. Raise the bound on the answer, or ask for less at once.',
    );
  }
  return modelError(
    'model_bad_answer',
    thoughtOnly
      ? '模型只有思考过程，没有给出回答（empty answer）。请重新提问或换一种问法；若总是这样，请换一个模型。'
      : '模型给出了空回答（empty answer）。请重新提问；若总是这样，请换一个模型。',
    thoughtOnly
      ? 'The model thought but gave an empty answer. Ask again or put it differently; if it keeps happening, choose another model.'
      : 'The model gave an empty answer. Ask again; if it keeps happening, choose another model.',
  );
};

export const ambiguousError = (what: { zh: string; en: string }): AppError =>
  modelError(
    'model_bad_answer',
    `模型服务发来的工具调用有歧义（${what.zh}），没有执行任何操作。请重试；若总是这样，请检查模型服务的工具调用设置。`,
    `The model server sent a tool call that can be read in more than one way (${what.en}); nothing was run. Try again; if it keeps happening, check the tool-call settings of the model server.`,
  );
