import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../launcher/failure.ts';
import { toolEnv } from '../launcher/install/command.ts';
import { ROOT } from '../launcher/paths.ts';
import { findEngine } from './engine.ts';
import { readImageFiles } from './image-files.ts';
import {
  bundledPackages,
  type Component,
  type Dependency,
  debianPackages,
  debianRelease,
  type NpmBom,
  nodeParts,
  pythonPackages,
  workspacePackages,
} from './inventory.ts';
import { imageName, type Target, VERSION } from './names.ts';
import type { Lock } from './packages-outside.ts';

/** Workspaces whose packages are bundled into an image or lie in it. The courier is a part of the executor's. */
const WORKSPACES: Readonly<Record<Target, readonly string[]>> = {
  gateway: ['@moli/gateway', '@moli/web'],
  executor: ['@moli/executor'],
  courier: ['@moli/executor'],
  sandbox: [],
};

/** Writes `moli-<target>.cdx.json` for each image into `folder` and returns the paths. The images have to be built. */
export function writeSboms(folder: string, registry: string, tag: string, targets: readonly Target[]): string[] {
  const engine = findEngine();
  mkdirSync(folder, { recursive: true });
  return targets.map((target) => {
    const image = imageName(target, registry, tag);
    const node = target === 'sandbox' ? [] : (['/app/versions.json'] as const);
    const bundle = target === 'courier' ? (['/app/packages.json'] as const) : [];
    const files = readImageFiles(engine, image, ['/var/lib/dpkg/status', '/usr/lib/os-release', ...node, ...bundle]);
    const debian = debianPackages(files['/var/lib/dpkg/status'], debianRelease(files['/usr/lib/os-release']));
    let npm = target === 'sandbox' ? { components: [], dependencies: [] } : npmPackages(WORKSPACES[target]);
    if (target === 'courier') npm = bundledPackages(npm, JSON.parse(files['/app/packages.json']));
    const runtime =
      target === 'sandbox'
        ? pythonPackages(readFileSync(join(ROOT, 'sandbox/requirements.txt'), 'utf8'))
        : nodeParts(JSON.parse(files['/app/versions.json']));
    const path = join(folder, `moli-${target}.cdx.json`);
    const bom = bomOf(image, target, [...debian, ...runtime, ...npm.components], npm.dependencies);
    writeFileSync(path, `${JSON.stringify(bom, null, 2)}\n`);
    return path;
  });
}

/** The bill of materials of one image. */
export function bomOf(
  image: string,
  target: Target,
  components: readonly Component[],
  dependencies: readonly Dependency[],
) {
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      timestamp: new Date().toISOString(),
      component: { type: 'container', 'bom-ref': image, name: `moli/${target}`, version: VERSION },
    },
    components,
    dependencies: [{ ref: image, dependsOn: components.map((one) => one['bom-ref']) }, ...dependencies],
  };
}

/** The packages of these workspaces by package-lock.json, as npm itself lists them. */
export function npmPackages(workspaces: readonly string[]): NpmBom {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  const run = spawnSync('npm', [...args, ...workspaces.map((name) => `--workspace=${name}`)], {
    cwd: ROOT,
    encoding: 'utf8',
    env: toolEnv(),
    maxBuffer: 64 * 1024 ** 2,
  });
  if (run.status !== 0) {
    const reason = run.error?.message ?? run.stderr.trim();
    throw new Failure({
      zh: `npm 没有列出软件包（需要 npm 10 或更新）：\n${reason}`,
      en: `npm did not list the packages (npm 10 or newer is needed):\n${reason}`,
    });
  }
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  return workspacePackages(JSON.parse(run.stdout) as NpmBom, workspaces, lock);
}
