import { parseArgs } from 'node:util';
import { inWords, type Text } from './words.ts';

export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly text: Text;

  constructor(text: Text) {
    super(text.en);
    this.text = text;
  }
}

export interface Arguments {
  readonly command: string;
  /** What stands after the command, without options. */
  readonly rest: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** Set when help was asked for: the text to print. */
  readonly help?: string;
}

interface Command {
  readonly usage: string;
  readonly does: Text;
  readonly options?: Readonly<Record<string, 'string' | 'boolean'>>;
  /** How many words may follow: least and most. */
  readonly words?: readonly [number, number];
  /** Not listed in the help. */
  readonly hidden?: boolean;
}

const DATA = { data: 'string' } as const;

const COMMANDS: Readonly<Record<string, Command>> = {
  up: {
    usage: 'up [--data DIR] [--port N] [--host ADDR] [--detach] [--yes]',
    does: {
      zh: '安装缺少的部分，构建并启动；打印地址和一次性登录链接',
      en: 'install what is missing, build, start; print the address and a one-time sign-in link',
    },
    options: { ...DATA, port: 'string', host: 'string', detach: 'boolean', yes: 'boolean' },
  },
  down: {
    usage: 'down [--data DIR]',
    does: { zh: '按顺序停止所有进程', en: 'stop everything in order' },
    options: DATA,
  },
  status: {
    usage: 'status [--data DIR] [--json]',
    does: { zh: '哪些服务在运行', en: 'which services are running' },
    options: { ...DATA, json: 'boolean' },
  },
  logs: {
    usage: 'logs [SERVICE] [--data DIR] [--follow]',
    does: {
      zh: '查看日志（launcher、postgres、redis、gateway、executor）',
      en: 'show logs (launcher, postgres, redis, gateway, executor)',
    },
    options: { ...DATA, follow: 'boolean' },
    words: [0, 1],
  },
  doctor: {
    usage: 'doctor [--data DIR] [--json] [--sandbox]',
    does: { zh: '检查有什么、缺什么、怎么办', en: 'what is there, what is missing, what to do' },
    options: { ...DATA, json: 'boolean', sandbox: 'boolean' },
  },
  demo: {
    usage: 'demo [--once] [--port N] [--yes]',
    does: {
      zh: '自动演示主场景（演示模型，回答是预先写好的）',
      en: 'play the main scene by itself, with a scripted demo model',
    },
    options: { once: 'boolean', port: 'string', yes: 'boolean' },
  },
  test: {
    usage: 'test [unit|int|e2e|browser|abuse|cluster|load …]',
    does: {
      zh: '运行测试；不写种类时运行除 cluster、load 外的全部',
      en: 'run tests; all kinds but cluster and load when none is named',
    },
    options: { yes: 'boolean' },
    words: [0, 10],
  },
  'key create': {
    usage: 'key create [--tenant T] [--user EMAIL] [--name N] [--data DIR]',
    does: { zh: '新建 API 密钥，只显示一次', en: 'make an API key, shown once' },
    options: { ...DATA, tenant: 'string', user: 'string', name: 'string' },
  },
  'tenant create': {
    usage: 'tenant create NAME [--locale zh|en] [--data DIR]',
    does: { zh: '新建租户', en: 'make a tenant' },
    options: { ...DATA, locale: 'string' },
    words: [1, 1],
  },
  'user invite': {
    usage: 'user invite EMAIL [--tenant T] [--role R] [--data DIR]',
    does: { zh: '邀请用户，打印一次性链接', en: 'invite a person; prints a one-time link' },
    options: { ...DATA, tenant: 'string', role: 'string' },
    words: [1, 1],
  },
  supervise: {
    usage: 'supervise',
    does: { zh: '', en: '' },
    options: { ...DATA, port: 'string', host: 'string', python: 'string' },
    hidden: true,
  },
};

/** The command with its options, checked. Throws UsageError that says what is wrong and what is right. */
export function parseCommandLine(argv: readonly string[]): Arguments {
  const words = argv.filter((word) => !word.startsWith('-'));
  if (words.length === 0 || words[0] === 'help') {
    const known = argv.length === 0 || words[0] === 'help' || argv.some((word) => word === '--help' || word === '-h');
    if (!known) throw unknown(argv[0] ?? '');
    return { command: 'help', rest: [], options: {}, help: helpText() };
  }
  const pair = `${words[0]} ${words[1] ?? ''}`;
  const name = pair in COMMANDS ? pair : (words[0] as string);
  const command = COMMANDS[name];
  const helpWanted = argv.includes('--help') || argv.includes('-h');
  if (!command) {
    const group = Object.keys(COMMANDS).filter((known) => known.startsWith(`${words[0]} `));
    if (group.length === 0) throw unknown(name);
    if (helpWanted) return { command: 'help', rest: [], options: {}, help: helpText(group) };
    throw unknown(pair.trim(), group);
  }
  if (helpWanted) {
    return { command: name, rest: [], options: {}, help: `./moli ${command.usage}\n    ${inWords(command.does)}` };
  }
  const { values, positionals } = parseOptions(argv, name, command);
  const rest = positionals.slice(name.split(' ').length);
  const [least, most] = command.words ?? [0, 0];
  if (rest.length < least || rest.length > most) throw wrong(command);
  return { command: name, rest, options: values };
}

function parseOptions(argv: readonly string[], name: string, command: Command) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: Object.fromEntries(Object.entries(command.options ?? {}).map(([option, type]) => [option, { type }])),
    });
  } catch (error) {
    throw wrong(command, error instanceof Error ? `${name}: ${error.message.split('. ')[0]}.` : undefined);
  }
}

function wrong(command: Command, detail?: string): UsageError {
  const lead = detail ? `${detail}\n` : '';
  return new UsageError({ zh: `${lead}用法：./moli ${command.usage}`, en: `${lead}Usage: ./moli ${command.usage}` });
}

/** `near`: the commands that may have been meant; without it, all. */
function unknown(name: string, near?: readonly string[]): UsageError {
  return new UsageError({
    zh: `没有命令「${name}」。\n${helpText(near)}`,
    en: `There is no command "${name}".\n${helpText(near)}`,
  });
}

function helpText(names: readonly string[] = Object.keys(COMMANDS)): string {
  const shown = names.map((name) => COMMANDS[name] as Command).filter((command) => !command.hidden);
  const rows = shown.map((command) => `  ./moli ${command.usage}\n      ${inWords(command.does)}`);
  const head = { zh: 'Moli（魔力）：自托管的 AI 工作台。', en: 'Moli: a self-hosted AI workbench.' };
  return [inWords(head), '', ...rows].join('\n');
}

/** A port from the command line. */
export function portOption(value: string | boolean | undefined): number | undefined {
  if (value === undefined) return undefined;
  const port = Number(value);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError({
    zh: `端口应为 1 到 65535 的整数，而不是「${value}」。`,
    en: `A port is a whole number from 1 to 65535, not "${value}".`,
  });
}
