import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, ROOT } from '../paths.ts';
import type { Text } from '../words.ts';
import type { Finding } from './finding.ts';

/** What `sandbox/box.py --probe` answers after a real run in a real sandbox. */
interface Probe {
  readonly ready: boolean;
  readonly strength?: string;
  readonly python?: string;
  readonly packages?: Readonly<Record<string, string>>;
  readonly reasons?: Text;
}

// A cold start of the environment on a slow disk imports pandas for tens of seconds.
const PROBE_TIMEOUT_MS = 120_000;

/** Tries the sandbox for real and says which strength this machine gives. */
export function probeSandbox(): Finding[] {
  const python = newestEnvironment();
  if (!python) {
    return [
      {
        name: 'python environment',
        level: 'missing',
        found: { zh: `${CACHE} 中没有`, en: `none in ${CACHE}` },
        todo: { zh: './moli up 会自动创建', en: './moli up makes it' },
      },
    ];
  }
  // Started as executors start it: an AppArmor profile is for the file.
  const done = spawnSync(join(ROOT, 'sandbox/box.py'), ['--python', python, '--probe'], {
    encoding: 'utf8',
    timeout: PROBE_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const environment: Finding = { name: 'python environment', level: 'ok', found: { zh: python, en: python } };
  return [environment, sandboxFinding(readProbe(done.stdout), done.stderr)];
}

function sandboxFinding(probe: Probe | undefined, log: string): Finding {
  if (probe?.ready) {
    const versions = Object.entries(probe.packages ?? {}).map(([name, version]) => `${name} ${version}`);
    const found = [probe.strength, `Python ${probe.python}`, ...versions].join(', ');
    return {
      name: 'sandbox',
      level: 'ok',
      found: { zh: `${found}（试运行成功）`, en: `${found} (a trial run worked)` },
    };
  }
  const end = (log ?? '').trim().split('\n').slice(-3).join('\n');
  return {
    name: 'sandbox',
    level: 'missing',
    found: probe?.reasons ?? { zh: `试运行失败：${end}`, en: `the trial run failed: ${end}` },
    todo: {
      zh: '需要内核 5.13 以上、允许非特权用户命名空间；或用 MOLI_SANDBOX_MIN_STRENGTH 接受较弱的隔离',
      en: 'a kernel of 5.13 or newer that allows user namespaces is needed; or accept less with MOLI_SANDBOX_MIN_STRENGTH',
    },
  };
}

function readProbe(output: string | null): Probe | undefined {
  try {
    return JSON.parse(output?.trim().split('\n').at(-1) ?? '') as Probe;
  } catch {
    return undefined;
  }
}

/** `sandbox/install.py` marks an environment that is whole with moli.json. */
function newestEnvironment(): string | undefined {
  if (!existsSync(CACHE)) return undefined;
  const whole = readdirSync(CACHE)
    .filter((name) => name.startsWith('python-'))
    .map((name) => join(CACHE, name))
    .filter((folder) => existsSync(join(folder, 'moli.json')))
    .sort((one, two) => statSync(one).mtimeMs - statSync(two).mtimeMs);
  const newest = whole.at(-1);
  return newest ? join(newest, 'bin/python') : undefined;
}
