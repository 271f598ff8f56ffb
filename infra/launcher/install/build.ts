import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../paths.ts';
import { step } from '../terminal.ts';
import { runCommand, toolEnv } from './command.ts';

// .nx holds nx's own cache too; it is not in the repository.
const STAMP = join(ROOT, '.nx/moli-build');
const RESULTS = ['services/gateway/dist/main.js', 'services/executor/dist/main.js', 'services/web/dist/index.html'];
const SOURCES = ['services', 'libs', 'package-lock.json', 'tsconfig.base.json', 'nx.json'];
const SKIPPED = new Set(['node_modules', 'dist', '.vite', 'coverage']);

/** Builds the services when a source changed since the last build. */
export async function buildServices(): Promise<void> {
  const fingerprint = sourcesFingerprint();
  if (buildIsCurrent(fingerprint)) return;
  await step({ zh: '构建', en: 'Building' }, async (note) => {
    await runCommand(
      process.execPath,
      [join(ROOT, 'node_modules/.bin/nx'), 'run-many', '-t', 'build', '--outputStyle=stream'],
      {
        cwd: ROOT,
        env: toolEnv(),
        note,
        failure: { zh: '构建失败，原因见下。', en: 'The build failed, for this reason.' },
      },
    );
  });
  mkdirSync(join(ROOT, '.nx'), { recursive: true });
  writeFileSync(STAMP, fingerprint);
}

export function buildIsCurrent(fingerprint = sourcesFingerprint()): boolean {
  return (
    RESULTS.every((file) => existsSync(join(ROOT, file))) &&
    existsSync(STAMP) &&
    readFileSync(STAMP, 'utf8') === fingerprint
  );
}

/** Changes when a source file is added, removed or written: name, size and time of each, which takes milliseconds. */
function sourcesFingerprint(): string {
  const hash = createHash('sha256');
  const visit = (path: string) => {
    const stat = statSync(join(ROOT, path));
    if (!stat.isDirectory()) return hash.update(`${path}\0${stat.size}\0${stat.mtimeMs}\n`);
    for (const name of readdirSync(join(ROOT, path)).sort()) {
      if (!SKIPPED.has(name) && !/\.spec\.ts$/.test(name)) visit(join(path, name));
    }
  };
  for (const source of SOURCES) visit(source);
  return hash.digest('hex');
}
