import type { Locale } from '@moli/errors';
import type { SessionEvent } from './event.schema.ts';
import { foldMessages } from './messages.fold.ts';
import type { Message, Session, ToolView } from './sessions.schema.ts';

/** A session as one JSON document. The events are the whole truth; an import needs nothing else. */
export interface SessionDocument {
  readonly format: 'moli.session';
  readonly version: 1;
  readonly exportedAt: string;
  readonly session: Pick<Session, 'id' | 'title' | 'agentId' | 'createdAt' | 'updatedAt'>;
  /** The messages as they stood, for people and programs that do not want to fold events. */
  readonly messages: Message[];
  readonly events: SessionEvent[];
}

export function exportJson(
  { id, title, agentId, createdAt, updatedAt }: Session,
  events: SessionEvent[],
  at: Date,
): SessionDocument {
  return {
    format: 'moli.session',
    version: 1,
    exportedAt: at.toISOString(),
    session: { id, title, agentId, createdAt, updatedAt },
    messages: foldMessages(events),
    events,
  };
}

const WORDS = {
  zh: {
    user: '用户',
    assistant: '助手',
    untitled: '未命名会话',
    files: '文件',
    input: '输入',
    output: '输出',
    errors: '错误输出',
    result: '结果',
    made: '产出文件',
    thinking: '思考过程',
    stopped: '已停止',
    failed: '失败',
    interrupted: '已中断',
    streaming: '进行中',
    completed: '',
  },
  en: {
    user: 'User',
    assistant: 'Assistant',
    untitled: 'Untitled session',
    files: 'Files',
    input: 'Input',
    output: 'Output',
    errors: 'Error output',
    result: 'Result',
    made: 'Files made',
    thinking: 'Thinking',
    stopped: 'stopped',
    failed: 'failed',
    interrupted: 'interrupted',
    streaming: 'running',
    completed: '',
  },
} as const;

/** A fence longer than any run of backticks inside, so that the text cannot end it. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`;
}

/** Names come from outside: nothing in them may start markup. */
const plain = (text: string): string => text.replaceAll(/[\\`*_[\]<>#|]/g, '\\$&').replaceAll(/[\r\n]+/g, ' ');

function toolSection(tool: ToolView, locale: Locale): string[] {
  const words = WORDS[locale];
  const { code, ...rest } = tool.arguments;
  const input = typeof code === 'string' ? code : JSON.stringify(tool.arguments, null, 2);
  const lines = [`**${plain(tool.name)}**${tool.verdict ? ` · ${tool.verdict}` : ''}`, `${words.input}:`];
  lines.push(fenced(input, typeof code === 'string' ? 'python' : 'json'));
  if (typeof code === 'string' && Object.keys(rest).length > 0)
    lines.push(fenced(JSON.stringify(rest, null, 2), 'json'));
  if (tool.stdout) lines.push(`${words.output}:`, fenced(tool.stdout));
  if (tool.stderr) lines.push(`${words.errors}:`, fenced(tool.stderr));
  if (tool.error) lines.push(`${words.result}: ${plain(tool.error.message)}`);
  else if (!tool.stdout && tool.content) lines.push(`${words.result}:`, fenced(tool.content));
  if (tool.artifacts.length > 0)
    lines.push(`${words.made}: ${tool.artifacts.map(({ name }) => plain(name)).join(', ')}`);
  return lines;
}

function messageSection(message: Message, locale: Locale): string[] {
  const words = WORDS[locale];
  const state = words[message.status];
  const lines = [`## ${words[message.role]}${state ? ` (${state})` : ''}`, `*${message.createdAt}*`];
  if (message.files.length > 0)
    lines.push(`${words.files}: ${message.files.map(({ name }) => plain(name)).join(', ')}`);
  if (message.reasoning)
    lines.push(`<details><summary>${words.thinking}</summary>\n\n${fenced(message.reasoning)}\n\n</details>`);
  for (const tool of message.tools) lines.push(...toolSection(tool, locale));
  if (message.text) lines.push(message.text);
  if (message.problem) lines.push(`> ${message.problem.detail[locale]}`);
  return lines;
}

/** A session as Markdown for people. */
export function exportMarkdown(session: Session, events: Iterable<SessionEvent>, locale: Locale): string {
  const title = plain(session.title) || WORDS[locale].untitled;
  const sections = foldMessages(events).flatMap((message) => messageSection(message, locale));
  return `${[`# ${title}`, ...sections].join('\n\n')}\n`;
}

/** `Content-Disposition` of an export: an ASCII name and the title in UTF-8. */
export function exportDisposition(session: Session, extension: 'md' | 'json'): string {
  const name = `${
    session.title
      .replaceAll(/[\p{C}/\\:*?"<>|]/gu, ' ')
      .trim()
      .slice(0, 80) || session.id
  }.${extension}`;
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${session.id}.${extension}"; filename*=UTF-8''${encoded}`;
}
