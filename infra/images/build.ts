import { spawnSync } from 'node:child_process';
import { ROOT } from '../launcher/paths.ts';
import { say } from '../launcher/terminal.ts';
import { findEngine, runEngine } from './engine.ts';
import { imageName, type Target, VERSION } from './names.ts';

export interface BuildOptions {
  readonly registry: string;
  readonly tag: string;
  readonly targets: readonly Target[];
  /** Handed to the engine as they are, for example `--build-arg NODE_IMAGE=…`. */
  readonly engineArguments: readonly string[];
}

/** Builds the images and returns their names. */
export function buildImages({ registry, tag, targets, engineArguments }: BuildOptions): string[] {
  const engine = findEngine();
  const commit = spawnSync('git', ['-C', ROOT, 'rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' });
  const known = commit.status === 0 ? commit.stdout.trim() : 'unknown';
  return targets.map((target) => {
    const image = imageName(target, registry, tag);
    say({ zh: `用 ${engine.name} 构建 ${image}`, en: `Building ${image} with ${engine.name}` });
    // buildah keeps layers only when told; the four images share most of theirs.
    const layers = engine.name === 'buildah' ? ['--layers'] : [];
    const values = ['--build-arg', `MOLI_COMMIT=${known}`, '--build-arg', `MOLI_VERSION=${VERSION}`];
    const args = ['build', ...layers, '--target', target, ...values, ...engineArguments, '--tag', image, ROOT];
    runEngine(engine, args, {
      zh: `镜像 ${image} 没有建成，原因见上。基础镜像和软件包需要能访问各自的源。命令是：`,
      en: `The image ${image} was not built; the reason is above. Base images and packages need their registries. The command was:`,
    });
    return image;
  });
}
