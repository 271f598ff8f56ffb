import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../launcher/failure.ts';
import { say } from '../launcher/terminal.ts';
import { type Engine, findEngine, holdsImage, runEngine } from './engine.ts';
import { howToLoad } from './how-to-load.ts';

const ARCHIVE = 'moli-images.tar';

/**
 * Saves the images into `folder`: one archive in the format of `docker save`, which docker, podman, containerd and skopeo read, the list of its names,
 * checksums, and what to do with it. What the engine does not hold it pulls. Returns the path of the archive.
 */
export async function saveImages(folder: string, images: readonly string[]): Promise<string> {
  const engine = findEngine();
  for (const image of images) if (!holdsImage(engine, image)) pull(engine, image);
  mkdirSync(folder, { recursive: true });
  // Under another name until it is whole: an archive that was cut off must not be taken for one.
  const unfinished = join(folder, `.${ARCHIVE}.${process.pid}`);
  try {
    if (engine.name === 'buildah') saveWithBuildah(engine, unfinished, images);
    else runEngine(engine, ['save', ...multiImage(engine), '-o', unfinished, ...images], notSaved);
    renameSync(unfinished, join(folder, ARCHIVE));
  } finally {
    rmSync(unfinished, { force: true });
  }
  writeFileSync(join(folder, 'images.txt'), `${images.join('\n')}\n`);
  const { zh, en } = howToLoad(images);
  writeFileSync(join(folder, 'README.txt'), `${zh}\n\n\n${en}\n`);
  const files = [ARCHIVE, 'images.txt', 'README.txt'];
  const sums = await Promise.all(files.map(async (name) => `${await sha256(join(folder, name))}  ${name}\n`));
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  return join(folder, ARCHIVE);
}

const notSaved = {
  zh: '镜像没有存成文件，原因见上。请检查磁盘空间。命令是：',
  en: 'The images were not saved; the reason is above. Check the space on the disk. The command was:',
};

const multiImage = ({ name }: Engine) =>
  name === 'podman' ? ['--format', 'docker-archive', '--multi-image-archive'] : [];

function pull(engine: Engine, image: string): void {
  say({ zh: `拉取 ${image}`, en: `Pulling ${image}` });
  runEngine(engine, ['pull', image], {
    zh: `镜像 ${image} 不在本机，也拉取不到。Moli 自己的镜像请先构建：node infra/images/images.ts build。命令是：`,
    en: `The image ${image} is neither here nor to be pulled. Moli's own images have to be built first: node infra/images/images.ts build. The command was:`,
  });
}

/** buildah writes one image an archive. They are put together as `docker save` does it: layers once each, one manifest for all. */
function saveWithBuildah(engine: Engine, archive: string, images: readonly string[]): void {
  const work = mkdtempSync(`${archive}-`);
  try {
    const manifests: unknown[] = [];
    const one = join(work, 'one.tar');
    const all = join(work, 'all');
    mkdirSync(all);
    for (const image of images) {
      runEngine(engine, ['push', '--quiet', image, `docker-archive:${one}:${image}`], notSaved);
      tar(['-xf', one, '-C', all]);
      manifests.push(...(JSON.parse(readFileSync(join(all, 'manifest.json'), 'utf8')) as unknown[]));
      rmSync(one);
    }
    writeFileSync(join(all, 'manifest.json'), JSON.stringify(manifests));
    // The list of an older format, of the last image alone.
    rmSync(join(all, 'repositories'), { force: true });
    // By their names: podman does not find ./manifest.json.
    tar(['-cf', archive, '-C', all, ...readdirSync(all)]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function tar(args: readonly string[]): void {
  const run = spawnSync('tar', args, { stdio: ['ignore', 2, 2] });
  if (run.status !== 0)
    throw new Failure({
      zh: `${notSaved.zh}\n    tar ${args.join(' ')}`,
      en: `${notSaved.en}\n    tar ${args.join(' ')}`,
    });
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
