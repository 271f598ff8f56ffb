/** The languages every message exists in. */
export const LOCALES = ['zh', 'en'] as const;
export type Locale = (typeof LOCALES)[number];

/** One row of the error table: how a code looks from outside. `docs/errors.md` is held to this table by a test. */
export interface ErrorRow {
  /** HTTP status. */
  readonly status: number;
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean;
  readonly title: Readonly<Record<Locale, string>>;
}

const row = (status: number, retryable: boolean, zh: string, en: string): ErrorRow => ({
  status,
  retryable,
  title: { zh, en },
});

/** Every code that a client can meet. Codes are promises: a changed meaning needs a new code. */
export const ERRORS = {
  bad_request: row(400, false, '请求有误', 'The request is not right'),
  unauthenticated: row(401, false, '请先登录', 'Sign in first'),
  forbidden: row(403, false, '没有权限', 'Not allowed'),
  link_invalid: row(403, false, '链接无效或已过期', 'The link is not valid or has expired'),
  not_found: row(404, false, '找不到', 'Not found'),
  unknown_tool: row(404, false, '没有这个工具', 'There is no such tool'),
  conflict: row(409, false, '与现有内容冲突', 'In conflict with what is there'),
  turn_running: row(409, true, '上一轮还没结束', 'The previous turn is still running'),
  upload_expired: row(410, false, '上传已过期', 'The upload has expired'),
  file_too_large: row(413, false, '文件太大', 'The file is too large'),
  body_too_large: row(413, false, '请求内容太大', 'The request body is too large'),
  unsupported_type: row(415, false, '不支持这种类型', 'This type is not accepted'),
  range_not_satisfiable: row(416, false, '超出内容的范围', 'The range is outside of the content'),
  misdirected: row(421, false, '地址未被允许', 'This address is not allowed'),
  bad_arguments: row(422, false, '参数有误', 'The arguments are not right'),
  checksum_mismatch: row(422, false, '内容与校验和不符', 'The content does not match its checksum'),
  invalid_name: row(422, false, '文件名不可用', 'The file name cannot be used'),
  empty_file: row(422, false, '文件是空的', 'The file is empty'),
  unreadable_file: row(422, false, '无法读取文件内容', 'The content of the file cannot be read'),
  no_model: row(409, false, '还没有配置模型', 'No model is configured yet'),
  rate_limited: row(429, true, '请求太频繁', 'Too many requests'),
  quota_exceeded: row(429, true, '超出额度', 'Over the quota'),
  queue_full: row(429, true, '排队已满', 'The queue is full'),
  internal: row(500, false, '内部错误', 'Internal error'),
  model_auth: row(502, false, '模型服务拒绝了密钥', 'The model server refused the key'),
  model_not_found: row(502, false, '模型服务没有这个模型', 'The model server does not have this model'),
  model_bad_answer: row(502, false, '模型服务的回答不合格式', 'The answer of the model server is not in the protocol'),
  model_refused: row(502, false, '模型服务拒绝了请求', 'The model server refused the request'),
  model_failed: row(502, true, '模型服务出错', 'The model server failed'),
  model_overloaded: row(503, true, '模型服务繁忙', 'The model server is busy'),
  model_unreachable: row(502, true, '连不上模型服务', 'The model server cannot be reached'),
  model_cut: row(502, true, '模型的回答中途断开', 'The answer of the model was cut off'),
  model_timeout: row(504, true, '模型服务超时', 'The model server took too long'),
  context_overflow: row(422, false, '内容超出模型的上下文', 'Too long for the context of the model'),
  turn_limit: row(409, false, '达到单轮上限', 'A bound of the turn was reached'),
  unavailable: row(503, true, '服务暂时不可用', 'Temporarily unavailable'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(ERRORS, value);
}
