import { AppError, type ErrorCode, toAppError } from '@moli/errors';

interface Thrown {
  readonly name?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly getStatus?: () => number;
}

/** SQLSTATE classes and codes that mean "the server is away or full", not "the query is wrong". */
const POSTGRES_AWAY = /^(08...|57P0[1-5]|53300|25P03|57014)$/;
const SOCKET_AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
]);
const REDIS_AWAY = new Set(['MaxRetriesPerRequestError', 'AbortError']);
const AWAY_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Connection is closed|Stream isn't writeable|Client has encountered a connection error|LOADING |Cannot use a pool after calling end)/;

function isAway(error: Thrown): boolean {
  const code = typeof error.code === 'string' ? error.code : '';
  return (
    POSTGRES_AWAY.test(code) ||
    SOCKET_AWAY.has(code) ||
    (REDIS_AWAY.has(error.name ?? '') && error.name !== 'AbortError') ||
    AWAY_MESSAGE.test(error.message ?? '')
  );
}

/** What Fastify and Nest refuse on their own, by status. */
const BY_STATUS: Readonly<Record<number, [code: ErrorCode, zh: string, en: string]>> = {
  400: [
    'bad_request',
    '请求的格式不对，无法读取。请检查 JSON 与请求头。',
    'The request could not be read. Check its JSON and headers.',
  ],
  401: [
    'unauthenticated',
    '需要登录，或在 Authorization 头中给出 API 密钥。',
    'Sign in, or send an API key in the Authorization header.',
  ],
  403: ['forbidden', '不允许此操作。', 'This is not allowed.'],
  404: ['not_found', '没有这个地址。请检查路径和方法。', 'There is nothing at this address. Check path and method.'],
  405: ['not_found', '没有这个地址。请检查路径和方法。', 'There is nothing at this address. Check path and method.'],
  413: [
    'body_too_large',
    '请求内容超过上限。大文件请用上传接口。',
    'The request body is over the limit. Use the upload route for large files.',
  ],
  415: [
    'unsupported_type',
    '不支持这种 Content-Type，请发送 application/json。',
    'This Content-Type is not accepted; send application/json.',
  ],
  429: ['rate_limited', '请求太频繁，请稍后再试。', 'Too many requests; try again a little later.'],
  503: [
    'unavailable',
    '服务正在停止或启动，请稍后再试。',
    'The service is stopping or starting; try again a little later.',
  ],
};

function statusOf(error: Thrown): number | undefined {
  if (typeof error.getStatus === 'function') return error.getStatus();
  return typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

/** Any thrown value as the error that its reader gets: ours, the framework's refusals, a dependency that is away; the rest is `internal`. */
export function translate(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Thrown;
  if (isAway(error)) {
    return new AppError(
      'unavailable',
      {
        zh: '数据库或队列暂时连不上，操作没有完成。恢复后会自动继续服务，请稍后重试。',
        en: 'The database or the queue cannot be reached right now and nothing was done. Service resumes by itself; try again shortly.',
      },
      { cause: thrown, retryAfterSeconds: 2 },
    );
  }
  if (error.code === '22021' || error.code === '22P05') {
    return new AppError(
      'bad_request',
      { zh: '文本中有无法保存的字符（NUL）。', en: 'A text holds a character that cannot be stored (NUL).' },
      { cause: thrown },
    );
  }
  if (error.code === 'FST_ERR_BAD_URL') {
    return new AppError('bad_request', {
      zh: '地址中的百分号编码不正确。',
      en: 'The percent-encoding of the address is not right.',
    });
  }
  const row = BY_STATUS[statusOf(error) ?? 500];
  if (!row) return toAppError(thrown);
  const [code, zh, en] = row;
  return new AppError(code, { zh, en }, { cause: thrown, ...(code === 'unavailable' ? { retryAfterSeconds: 2 } : {}) });
}
