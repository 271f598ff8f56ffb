import { AppError, type Locale } from '@moli/errors';

/** A fault of a schema check, as zod reports it through Standard Schema. */
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
  readonly code?: string;
  readonly expected?: string;
  readonly keys?: readonly string[];
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly format?: string;
  readonly values?: readonly unknown[];
}

/** `files[0].name`; the whole body is `body`. */
function pathOf(issue: Issue): string {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === 'object' ? segment.key : segment));
  const text = keys.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path ? `${path}.${String(key)}` : String(key)),
    '',
  );
  return text.slice(0, 200);
}

/** Names that come from outside are shown, but not at any length. */
const shown = (words: readonly unknown[]): string =>
  words
    .slice(0, 10)
    .map((word) => `"${String(word).slice(0, 60)}"`)
    .join(', ');

function describe(issue: Issue): Record<Locale, string> {
  switch (issue.code) {
    case 'unrecognized_keys':
      return { zh: `有未知字段 ${shown(issue.keys ?? [])}`, en: `has unknown fields ${shown(issue.keys ?? [])}` };
    case 'invalid_type':
      return issue.message.endsWith('received undefined')
        ? { zh: '缺少必填字段', en: 'is required' }
        : { zh: `类型应为 ${issue.expected}`, en: `must be of type ${issue.expected}` };
    case 'too_small':
      return { zh: `太小或太短，至少 ${issue.minimum}`, en: `is too small or too short, at least ${issue.minimum}` };
    case 'too_big':
      return { zh: `太大或太长，至多 ${issue.maximum}`, en: `is too large or too long, at most ${issue.maximum}` };
    case 'invalid_value':
      return { zh: `只能是 ${shown(issue.values ?? [])}`, en: `must be one of ${shown(issue.values ?? [])}` };
    case 'invalid_format':
      return { zh: `格式不对（${issue.format}）`, en: `is not in the format ${issue.format}` };
    default:
      return { zh: `不可用（${issue.message.slice(0, 200)}）`, en: `cannot be used (${issue.message.slice(0, 200)})` };
  }
}

/** Faults of a request as one `bad_request` that names each field; `issues` lists path and message of each. */
export function requestFault(issues: readonly Issue[]): AppError {
  const faults = issues.slice(0, 20).map((issue) => ({ path: pathOf(issue), text: describe(issue) }));
  const sentence = (locale: Locale, whole: string): string =>
    faults.map(({ path, text }) => `${path === '' ? whole : path} ${text[locale]}`).join(locale === 'zh' ? '；' : '; ');
  return new AppError(
    'bad_request',
    { zh: `请求有误：${sentence('zh', '请求内容')}。`, en: `The request is not right: ${sentence('en', 'the body')}.` },
    { fields: { issues: faults.map(({ path, text }) => ({ path, message: text.en })) } },
  );
}
