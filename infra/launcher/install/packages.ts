import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, TOOLS } from '../paths.ts';
import { step } from '../terminal.ts';
import { runCommand, toolEnv } from './command.ts';

interface Lock {
  readonly packages: Readonly<
    Record<string, { version?: string; integrity?: string; link?: boolean; optional?: boolean; resolved?: string }>
  >;
}

/** `npm ci`, when what is installed is not what package-lock.json says. Needs the registry only then. */
export async function installPackages(): Promise<void> {
  if (packagesAreCurrent()) return;
  await step({ zh: '安装 npm 依赖', en: 'Installing npm packages' }, async (note) => {
    const npm = join(TOOLS, 'node_modules/npm/bin/npm-cli.js');
    // npm prints nothing while it works without a terminal: the http log is the progress.
    await runCommand(
      process.execPath,
      [npm, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=http'],
      {
        cwd: ROOT,
        env: toolEnv(),
        note,
        failure: {
          zh: 'npm 依赖没有装上。请检查网络或 npm 软件源，再运行一次。',
          en: 'The npm packages could not be installed. Check the network or the npm registry, then run this again.',
        },
      },
    );
  });
}

/** npm writes node_modules/.package-lock.json as the last step of an installation: it says what is really there. */
export function packagesAreCurrent(): boolean {
  const installed = join(ROOT, 'node_modules/.package-lock.json');
  if (!existsSync(installed)) return false;
  const wanted = read(join(ROOT, 'package-lock.json')).packages;
  const there = read(installed).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true;
    const found = there[path];
    if (!found) return entry.optional === true;
    return entry.link ? found.link === true && found.resolved === entry.resolved : found.version === entry.version;
  });
}

function read(path: string): Lock {
  return JSON.parse(readFileSync(path, 'utf8')) as Lock;
}
