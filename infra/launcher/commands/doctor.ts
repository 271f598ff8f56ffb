import { existsSync, statfsSync, statSync } from 'node:fs';
import { arch, cpus, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { Arguments } from '../command-line.ts';
import { buildIsCurrent } from '../install/build.ts';
import { packagesAreCurrent } from '../install/packages.ts';
import { CHROMIUM, REQUIREMENTS, systemName } from '../install/system.ts';
import { type DataFolder, dataFolder } from '../paths.ts';
import { print } from '../terminal.ts';
import { inWords, type Text } from '../words.ts';
import type { Finding } from './finding.ts';
import { probeSandbox } from './sandbox-probe.ts';

const BY_UP: Text = { zh: './moli up 会自动完成', en: './moli up does it' };
const MARK = { ok: '✓', advice: '!', missing: '✗' };
const GIB = 1024 ** 3;

/** `./moli doctor`: exit 1 when the main job (a CSV in, a chart out) can't run on this machine as it is. */
export async function run({ options }: Arguments): Promise<number> {
  const folder = dataFolder(options.data);
  const sandbox = probeSandbox();
  const findings = options.sandbox
    ? sandbox
    : [...machine(folder), ...programs(), ...installed(), ...sandbox, ...(await running(folder))];
  const works = findings.every((finding) => finding.level !== 'missing');
  if (options.json) print(JSON.stringify({ works, findings }, null, 2));
  else show(findings, works);
  return works ? 0 : 1;
}

function show(findings: readonly Finding[], works: boolean): void {
  for (const { level, name, found, todo } of findings) {
    print(`${MARK[level]} ${name.padEnd(24)} ${inWords(found)}${todo ? `\n    → ${inWords(todo)}` : ''}`);
  }
  print(
    inWords(
      works
        ? { zh: '主流程可以运行。', en: 'The main job can run.' }
        : { zh: '主流程还不能运行，见 ✗。', en: 'The main job can not run yet: see ✗.' },
    ),
  );
}

function machine(folder: DataFolder): Finding[] {
  const memory = totalmem() / GIB;
  const disk = freeBytes(folder.dir) / GIB;
  const right = process.platform === 'linux' && (arch() === 'x64' || arch() === 'arm64');
  return [
    {
      name: 'system',
      level: right ? 'ok' : 'missing',
      found: same(`${systemName()}, Linux ${release()}, ${arch()}, ${cpus().length} CPU`),
      ...(right ? {} : { todo: { zh: '需要 64 位 Linux', en: '64-bit Linux is needed' } }),
    },
    { name: 'node', level: 'ok', found: same(process.versions.node) },
    {
      name: 'memory',
      // The stack itself takes under 1 GiB; runs come on top of it.
      level: memory >= 2 ? 'ok' : 'advice',
      found: same(`${memory.toFixed(1)} GiB`),
      ...(memory >= 2 ? {} : { todo: { zh: '建议至少 2 GiB', en: '2 GiB or more is advised' } }),
    },
    {
      name: 'disk',
      // npm packages and the Python environment take about 2.2 GB.
      level: disk >= 4 ? 'ok' : disk >= 1 ? 'advice' : 'missing',
      found: {
        zh: `${folder.dir} 所在磁盘剩余 ${disk.toFixed(1)} GiB`,
        en: `${disk.toFixed(1)} GiB free at ${folder.dir}`,
      },
      ...(disk >= 4
        ? {}
        : { todo: { zh: '安装和数据需要约 4 GiB', en: 'about 4 GiB are needed for the installation and data' } }),
    },
  ];
}

function programs(): Finding[] {
  return [...REQUIREMENTS, { ...CHROMIUM, optional: true }].map((requirement) => {
    const there = requirement.present();
    const install = `apt-get install -y --no-install-recommends ${requirement.packages.join(' ')}`;
    return {
      name: requirement.name,
      level: there ? 'ok' : requirement.optional ? 'advice' : 'missing',
      found: there
        ? requirement.neededFor
        : { zh: `没有安装（用于${requirement.neededFor.zh}）`, en: `not installed (for ${requirement.neededFor.en})` },
      ...(there ? {} : { todo: same(process.getuid?.() === 0 ? install : `sudo ${install}`) }),
    };
  });
}

function installed(): Finding[] {
  const packages = packagesAreCurrent();
  const built = buildIsCurrent();
  const state = (done: boolean): Text =>
    done ? { zh: '最新', en: 'current' } : { zh: '没有或已过期', en: 'missing or out of date' };
  return [
    {
      name: 'npm packages',
      level: packages ? 'ok' : 'missing',
      found: state(packages),
      ...(packages ? {} : { todo: BY_UP }),
    },
    { name: 'build', level: built ? 'ok' : 'missing', found: state(built), ...(built ? {} : { todo: BY_UP }) },
  ];
}

async function running(folder: DataFolder): Promise<Finding[]> {
  if (!packagesAreCurrent()) return [];
  const [{ holderOf, readState }, { portHolder }, { modelAdvice, readSettings }] = await Promise.all([
    import('../run/state.ts'),
    import('@moli/processes'),
    import('../run/settings.ts'),
  ]);
  const state = holderOf(folder) ? readState(folder) : undefined;
  const advice = modelAdvice(readSettings(folder));
  const model: Finding = advice
    ? { name: 'model', level: 'advice', found: advice }
    : {
        name: 'model',
        level: 'ok',
        found: { zh: '已由环境或 .env 配置', en: 'configured by the environment or .env' },
      };
  if (state)
    return [
      { name: 'running', level: 'ok', found: same(`${state.url} (pid ${state.supervisor.pid})`) },
      model,
      ...secretsFinding(folder),
    ];
  const holder = portHolder(8000);
  const port: Finding = holder
    ? {
        name: 'port 8000',
        level: 'advice',
        found: {
          zh: `被占用：${holder.command ?? '其他用户的进程'} ${holder.pid ?? ''}`,
          en: `in use by ${holder.command ?? 'a process of another user'} ${holder.pid ?? ''}`,
        },
        todo: { zh: '停止它，或 ./moli up --port N', en: 'stop it, or ./moli up --port N' },
      }
    : { name: 'port 8000', level: 'ok', found: { zh: '空闲', en: 'free' } };
  return [port, model, ...secretsFinding(folder)];
}

function secretsFinding(folder: DataFolder): Finding[] {
  if (!existsSync(folder.secrets)) return [];
  const safe = (statSync(folder.secrets).mode & 0o077) === 0;
  return [
    {
      name: 'secrets',
      level: safe ? 'ok' : 'advice',
      found: safe
        ? { zh: '只有所有者可读', en: 'readable by their owner alone' }
        : { zh: '其他用户可读', en: 'readable by other users' },
      ...(safe ? {} : { todo: same(`chmod 600 ${folder.secrets}`) }),
    },
  ];
}

/** The folder may not be there yet: the disk is that of the first folder above it that is. */
function freeBytes(path: string): number {
  let dir = path;
  while (!existsSync(dir)) dir = dirname(dir);
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

function same(text: string): Text {
  return { zh: text, en: text };
}
