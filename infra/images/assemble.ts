import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Lock, packagesOutside } from './packages-outside.ts';

/**
 * Run in the image build: `node infra/images/assemble.ts TARGET` lays out /app of each Node image below TARGET/<name>: the bundle, the packages that it
 * leaves outside, and for the gateway the web workbench.
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
// The courier is a file by itself, in an image of its own.
const COURIER = '/courier.cjs';
const COURIER_PACKAGES = '/courier.packages.json';
// Never read at run time: types, and source maps (30 MB of memory if they were).
const NOT_NEEDED = /\.(map|[cm]?ts)$/;

function copy(from: string, to: string, keep: (path: string) => boolean = () => true): void {
  cpSync(from, to, { recursive: true, filter: (path) => !NOT_NEEDED.test(path) && keep(path) });
}

async function assemble(service: string, target: string): Promise<void> {
  const folder = `services/${service}`;
  copy(
    join(ROOT, folder, 'dist'),
    join(target, folder, 'dist'),
    (path) => !path.endsWith(COURIER) && !path.endsWith(COURIER_PACKAGES),
  );
  // It says that the bundle is made of ES modules.
  copy(join(ROOT, folder, 'package.json'), join(target, folder, 'package.json'));
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const { default: config } = await import(join(ROOT, folder, 'rolldown.config.ts'));
  for (const path of packagesOutside(lock, folder, config.external)) {
    const from = join(ROOT, path);
    // A build for another processor or C library, which npm rightly left out.
    if (!existsSync(from) && lock.packages[path]?.optional) continue;
    const nested = join(from, 'node_modules');
    copy(from, join(target, path), (at) => at !== nested);
  }
}

const target = process.argv[2];
if (!target) throw new Error('usage: assemble.ts TARGET');
for (const service of ['gateway', 'executor']) await assemble(service, join(target, service));
copy(join(ROOT, 'services/web/dist'), join(target, 'gateway/services/web/dist'));
mkdirSync(join(target, 'courier'), { recursive: true });
copy(join(ROOT, 'services/executor/dist', COURIER), join(target, 'courier', COURIER));
copy(join(ROOT, 'services/executor/dist', COURIER_PACKAGES), join(target, 'courier/packages.json'));
// The Node of the build is that of the images; what is built into it has faults of its own, which the bills of materials have to list.
for (const name of ['gateway', 'executor', 'courier']) {
  writeFileSync(join(target, name, 'versions.json'), `${JSON.stringify(process.versions)}\n`);
}
