import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../launcher/failure.ts';
import { askEngine, type Engine } from './engine.ts';

/** Texts of files in an image, by their paths. The image is not run: ours have no program that could print a file. */
export function readImageFiles<Path extends string>(
  engine: Engine,
  image: string,
  paths: readonly Path[],
): Record<Path, string> {
  const buildah = engine.name === 'buildah';
  const container = askEngine(engine, buildah ? ['from', '--pull-never', image] : ['create', image])
    ?.toString()
    .trim();
  if (!container) {
    throw new Failure({
      zh: `${engine.name} 里没有镜像 ${image}。请先构建：node infra/images/images.ts build`,
      en: `${engine.name} holds no image ${image}. Build it first: node infra/images/images.ts build`,
    });
  }
  try {
    const root = buildah ? askEngine(engine, ['mount', container])?.toString().trim() : undefined;
    const read = (path: string): string => {
      if (root) return readFileSync(join(root, path), 'utf8');
      const archive = askEngine(engine, ['cp', `${container}:${path}`, '-']);
      const text = archive && spawnSync('tar', ['-xOf', '-'], { input: archive, encoding: 'utf8' });
      if (text?.status !== 0) throw new Failure(unreadable(image, path));
      return text.stdout;
    };
    if (buildah && !root) throw new Failure(unreadable(image, paths.join(', ')));
    return Object.fromEntries(paths.map((path) => [path, read(path)])) as Record<Path, string>;
  } finally {
    askEngine(engine, ['rm', container]);
  }
}

const unreadable = (image: string, path: string) => ({
  zh: `读不到镜像 ${image} 中的 ${path}。用 buildah 时请以 root 身份运行，或用 buildah unshare。`,
  en: `${path} of the image ${image} could not be read. With buildah run this as root, or by buildah unshare.`,
});
