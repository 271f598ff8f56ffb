import { AppError } from '@moli/errors';

interface FaultRow {
  /** Variables of the gateway that an operator has to look at. */
  readonly settings: readonly string[];
  /** Whether the same request may succeed a moment later. */
  readonly passing: boolean;
  readonly zh: string;
  readonly en: string;
}

const row = (settings: readonly string[], passing: boolean, zh: string, en: string): FaultRow => ({
  settings,
  passing,
  zh,
  en,
});

/** Why an S3 server cannot be used, as far as it can be told from outside, and what to do about it. */
export const S3_FAULTS = {
  unreachable: row(
    ['MOLI_S3_ENDPOINT'],
    true,
    '连接不上对象存储。请检查它是否在运行、MOLI_S3_ENDPOINT 的主机名和端口是否正确，以及网络策略是否放行。',
    'The object store cannot be reached. Check that it runs, that host and port of MOLI_S3_ENDPOINT are right, and that network policies let us through.',
  ),
  slow: row(
    ['MOLI_S3_ENDPOINT'],
    true,
    '对象存储迟迟没有应答。请检查它和到它的网络（MOLI_S3_ENDPOINT）是否过载。',
    'The object store did not answer in time. Check whether it, or the network to it (MOLI_S3_ENDPOINT), is overloaded.',
  ),
  busy: row(
    ['MOLI_S3_ENDPOINT'],
    true,
    '对象存储自身出错或过于繁忙（5xx），重试后仍然如此。请查看它的日志。',
    'The object store failed or was too busy (5xx), also when asked again. Look at its log.',
  ),
  not_trusted: row(
    ['MOLI_S3_CA_FILE', 'MOLI_S3_ENDPOINT'],
    false,
    '对象存储的 TLS 证书不受信任。请把签发它的 CA（PEM）写入 MOLI_S3_CA_FILE，并确认 MOLI_S3_ENDPOINT 的主机名在证书里、证书没有过期。',
    'The TLS certificate of the object store is not trusted. Put the CA that signed it (PEM) into MOLI_S3_CA_FILE, and check that the certificate names the host of MOLI_S3_ENDPOINT and has not expired.',
  ),
  not_tls: row(
    ['MOLI_S3_ENDPOINT'],
    false,
    '对象存储的这个端口不讲 TLS。请检查 MOLI_S3_ENDPOINT 应以 http:// 还是 https:// 开头，以及端口。',
    'The object store does not speak TLS at this port. Check whether MOLI_S3_ENDPOINT has to begin with http:// or https://, and its port.',
  ),
  not_s3: row(
    ['MOLI_S3_ENDPOINT'],
    false,
    'MOLI_S3_ENDPOINT 处应答的不是 S3 服务。请填写 S3 接口的地址，而不是控制台或网页的地址。',
    'What answers at MOLI_S3_ENDPOINT is not an S3 server. Give the address of its S3 interface, not that of a console or a web page.',
  ),
  wrong_key: row(
    ['MOLI_S3_ACCESS_KEY', 'MOLI_S3_SECRET_KEY'],
    false,
    '对象存储不接受访问密钥。请检查 MOLI_S3_ACCESS_KEY 和 MOLI_S3_SECRET_KEY。',
    'The object store does not accept the access key. Check MOLI_S3_ACCESS_KEY and MOLI_S3_SECRET_KEY.',
  ),
  no_access: row(
    ['MOLI_S3_ACCESS_KEY', 'MOLI_S3_BUCKET'],
    false,
    '访问密钥 MOLI_S3_ACCESS_KEY 对存储桶 MOLI_S3_BUCKET 没有所需的权限：列出、读取、写入和删除对象，以及分段上传。',
    'The access key MOLI_S3_ACCESS_KEY lacks a right on the bucket MOLI_S3_BUCKET: to list, read, write and delete objects and to upload in parts.',
  ),
  no_bucket: row(
    ['MOLI_S3_BUCKET'],
    false,
    '存储桶 MOLI_S3_BUCKET 不存在，也无权创建。请检查名字，或先建好这个桶。',
    'The bucket MOLI_S3_BUCKET does not exist and could not be made with this key. Check its name, or make it first.',
  ),
  wrong_region: row(
    ['MOLI_S3_REGION', 'MOLI_S3_ENDPOINT'],
    false,
    '存储桶在另一个区域。请把 MOLI_S3_REGION 和 MOLI_S3_ENDPOINT 改成它所在的区域。',
    'The bucket is in another region. Set MOLI_S3_REGION and MOLI_S3_ENDPOINT to the one it is in.',
  ),
  clock: row(
    [],
    false,
    '本机与对象存储的时钟相差太大（超过几分钟），签名因此被拒。请在两边开启时间同步（NTP）。',
    'The clocks of this machine and of the object store differ by more than a few minutes, so signatures are refused. Turn on time synchronisation (NTP) on both.',
  ),
  not_conditional: row(
    ['MOLI_S3_ENDPOINT'],
    false,
    '这个 S3 服务忽略条件写入（If-None-Match），一次性的上传链接因此不安全。请换用支持它的服务或版本。',
    'This S3 server ignores conditional writes (If-None-Match), so that single-use upload links would not be safe. Use a server or version that has them.',
  ),
  not_encrypted: row(
    ['MOLI_S3_ENCRYPTION'],
    false,
    '对象存储没有按 MOLI_S3_ENCRYPTION 加密对象。请在存储上配置密钥，或更改这个设置。',
    'The object store does not encrypt objects as MOLI_S3_ENCRYPTION asks. Configure its keys, or change the setting.',
  ),
  refused: row(
    ['MOLI_S3_ENDPOINT'],
    false,
    '对象存储拒绝了请求。原因见网关日志。',
    'The object store refused a request. The log of the gateway says why.',
  ),
} as const satisfies Record<string, FaultRow>;

export type S3Fault = keyof typeof S3_FAULTS;

/** The S3 server cannot be used. `detail` names the settings to look at and nothing secret; `cause` has what the server said. */
export class S3Unavailable extends AppError {
  readonly fault: S3Fault;
  readonly settings: readonly string[];
  readonly passing: boolean;

  constructor(fault: S3Fault, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    const { settings, passing, zh, en } = S3_FAULTS[fault];
    super('unavailable', { zh, en }, options);
    this.fault = fault;
    this.settings = settings;
    this.passing = passing;
  }
}

/** An answer with a status that means "later": the client library would lose the status. Raised by our transport. */
export class S3LaterStatus extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, retryAfter: string | undefined) {
    super(`the S3 server answered ${status}`);
    this.status = status;
    this.retryAfterSeconds = retryAfter && /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  }
}

/** Nothing came or went on the connection for too long. Raised by our transport. */
export class S3Silence extends Error {
  constructor(milliseconds: number) {
    super(`nothing was heard from the S3 server for ${milliseconds} ms`);
  }
}

/** Code of an S3 error or of a system error: `NoSuchKey`, `ECONNREFUSED`, or ''. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

const BY_CODE: Readonly<Record<string, S3Fault>> = {
  InvalidAccessKeyId: 'wrong_key',
  SignatureDoesNotMatch: 'wrong_key',
  InvalidToken: 'wrong_key',
  // versitygw's word for a key that it does not know.
  XAdminUserNotFound: 'wrong_key',
  AccessDenied: 'no_access',
  AllAccessDisabled: 'no_access',
  NoSuchBucket: 'no_bucket',
  InvalidBucketName: 'no_bucket',
  PermanentRedirect: 'wrong_region',
  MovedPermanently: 'wrong_region',
  TemporaryRedirect: 'wrong_region',
  AuthorizationHeaderMalformed: 'wrong_region',
  IllegalLocationConstraintException: 'wrong_region',
  RequestTimeTooSkewed: 'clock',
  RequestExpired: 'clock',
  SlowDown: 'busy',
  InternalError: 'busy',
  ServiceUnavailable: 'busy',
  OperationAborted: 'busy',
  ConditionalRequestConflict: 'busy',
  RequestTimeout: 'slow',
  ETIMEDOUT: 'slow',
  EPROTO: 'not_tls',
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  EPIPE: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  // A body that was changed on its way: the same bytes again may come through.
  XAmzContentSHA256Mismatch: 'busy',
  BadDigest: 'busy',
  IncompleteBody: 'busy',
};

/** Codes that OpenSSL and Node give certificates they do not accept. */
const CERTIFICATE = /CERT|UNABLE_TO_(GET|VERIFY|DECRYPT)|SELF_SIGNED|CRL_/;

/** Errors of the client library that carry no code: the answer was not in the form of S3. */
const FOREIGN_ANSWER = new Set(['S3Error', 'InvalidXMLError', 'ParseError']);

/** What a failed request means. Throws errors on that did not come from a request. */
export function faultOf(error: unknown): S3Unavailable {
  if (error instanceof S3Unavailable) return error;
  if (error instanceof S3Silence) return new S3Unavailable('slow', { cause: error });
  if (error instanceof S3LaterStatus) {
    const { retryAfterSeconds } = error;
    return new S3Unavailable('busy', { cause: error, ...(retryAfterSeconds ? { retryAfterSeconds } : {}) });
  }
  return new S3Unavailable(byCode(codeOf(error), error), { cause: error });
}

function byCode(code: string, error: unknown): S3Fault {
  const known = BY_CODE[code];
  if (known) return known;
  if (CERTIFICATE.test(code)) return 'not_trusted';
  // Node's HTTP parser (HPE_…) meets TLS records, or TLS meets HTTP.
  if (code.startsWith('ERR_SSL') || code.startsWith('HPE_')) return 'not_tls';
  if (code !== '') return 'refused';
  if (error instanceof Error && error.name === 'InvalidBucketNameError') return 'no_bucket';
  if (error instanceof Error && FOREIGN_ANSWER.has(error.name)) return 'not_s3';
  throw error;
}
