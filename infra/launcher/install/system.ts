import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.ts';
import { agree, say, step } from '../terminal.ts';
import type { Text } from '../words.ts';
import { runCommand } from './command.ts';

/** Something of the machine that Moli uses, and the Debian packages that bring it. */
export interface Requirement {
  readonly name: string;
  readonly packages: readonly string[];
  readonly neededFor: Text;
  readonly present: () => boolean;
  /** Charts and tests want it, the main job runs without. */
  readonly optional?: boolean;
}

const FONTS = '/usr/share/fonts';

export const REQUIREMENTS: readonly Requirement[] = [
  {
    name: 'redis-server',
    packages: ['redis-server'],
    neededFor: { zh: '任务队列', en: 'the queue of runs' },
    present: () => onPath('redis-server'),
  },
  {
    name: 'python3 ≥ 3.11, venv',
    packages: ['python3', 'python3-venv'],
    neededFor: { zh: '运行代码的沙箱', en: 'the sandbox that runs code' },
    present: () => existsSync('/usr/bin/python3') && hasEnsurepip(),
  },
  {
    name: 'setpriv, unshare, mount',
    packages: ['util-linux', 'mount'],
    neededFor: { zh: '以非特权用户运行进程', en: 'running processes without privileges' },
    present: () => ['setpriv', 'unshare', 'mount'].every(onPath),
  },
  {
    name: 'Noto Sans CJK',
    packages: ['fonts-noto-cjk'],
    neededFor: { zh: '图表中的中文', en: 'Chinese, Japanese and Korean in charts' },
    present: () => hasFont(/^NotoSansCJK-Regular/),
    optional: true,
  },
  {
    name: 'Symbola',
    packages: ['fonts-symbola'],
    neededFor: { zh: '图表中的符号和表情', en: 'symbols and emoji in charts' },
    present: () => hasFont(/^Symbola/),
    optional: true,
  },
];

export const CHROMIUM: Requirement = {
  name: 'chromium',
  packages: ['chromium'],
  neededFor: { zh: '浏览器测试', en: 'browser tests' },
  present: () => onPath('chromium'),
  optional: true,
};

/** Installs what is missing as root on Debian or Ubuntu after naming it; elsewhere prints the exact command and fails. */
export async function installSystemPackages(wanted: readonly Requirement[], yes: boolean): Promise<void> {
  const missing = wanted.filter((requirement) => !requirement.present());
  if (missing.length === 0) return;
  const packages = [...new Set(missing.flatMap((requirement) => requirement.packages))];
  const list = (locale: keyof Text) =>
    missing.map((one) => `  ${one.packages.join(' ')}  (${one.neededFor[locale]})`).join('\n');
  say({ zh: `缺少系统软件包：\n${list('zh')}`, en: `System packages are missing:\n${list('en')}` });
  const install = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !onPath('apt-get')) {
    if (missing.every((requirement) => requirement.optional)) return;
    const command = onPath('apt-get') ? `sudo sh -c 'apt-get update && ${install}'` : packages.join(' ');
    throw new Failure({
      zh: `请以管理员身份安装后重试：\n  ${command}`,
      en: `Install them as an administrator and try again:\n  ${command}`,
    });
  }
  if (!yes && !(await agree({ zh: '现在安装？', en: 'Install them now?' }))) {
    throw new Failure({
      zh: `没有安装。需要时运行：\n  ${install}`,
      en: `Nothing was installed. When you want to, run:\n  ${install}`,
    });
  }
  await step({ zh: '安装系统软件包', en: 'Installing system packages' }, (note) => aptInstall(packages, note));
}

async function aptInstall(packages: readonly string[], note: (line: string) => void): Promise<void> {
  // RUNLEVEL=1 keeps Debian's scripts from starting a Redis of the system that nobody asked for.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const failure = {
    zh: '系统软件包没有装上。请检查网络和 apt 软件源，再运行一次。',
    en: 'The system packages could not be installed. Check the network and the apt sources, then run this again.',
  };
  await runCommand('apt-get', ['update'], { env, note, failure });
  await runCommand('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env, note, failure });
}

function onPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder || '.', program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Debian splits `ensurepip` from python3; without it `python3 -m venv` fails. */
function hasEnsurepip(): boolean {
  const versions = readdirSync('/usr/lib').filter((name) => /^python3\.\d+$/.test(name) && Number(name.slice(8)) >= 11);
  return versions.some((name) => existsSync(`/usr/lib/${name}/ensurepip/__main__.py`));
}

function hasFont(pattern: RegExp): boolean {
  if (!existsSync(FONTS)) return false;
  return readdirSync(FONTS, { recursive: true, encoding: 'utf8' }).some((path) =>
    pattern.test(path.slice(path.lastIndexOf('/') + 1)),
  );
}

/** `PRETTY_NAME` of /etc/os-release. */
export function systemName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  } catch {
    return 'Linux';
  }
}
