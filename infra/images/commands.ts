import { parseArgs } from 'node:util';
import { UsageError } from '../launcher/command-line.ts';
import { Failure } from '../launcher/failure.ts';
import { inWords, type Text } from '../launcher/words.ts';
import { buildImages } from './build.ts';
import { TARGETS, type Target, VERSION } from './names.ts';

const print = (text: string) => void process.stdout.write(`${text}\n`);

const HELP: Text = {
  zh: `Moli 的镜像。

  node infra/images/images.ts build [目标…] [--registry R] [--tag T] [-- 引擎的参数…]
      用 docker、podman 或 buildah 构建（MOLI_BUILDER 指定用哪个）；目标：${TARGETS.join(' ')}
  node infra/images/images.ts list [-- helm 的参数…]
      列出 chart 在这些值下用到的全部镜像，例如：list -- -f my-values.yaml --set eval.enabled=true
  node infra/images/images.ts save 目录 [镜像…] [-- helm 的参数…]
      把这些镜像（默认为 list 列出的全部）存成一个文件，附校验和，供没有互联网的环境使用
  node infra/images/images.ts sbom 目录 [目标…] [--registry R] [--tag T]
      为每个镜像写一份 CycloneDX 物料清单

  --registry R    镜像名的前缀，与 chart 的 image.registry 相同，例如 registry.example
  --tag T         标签，默认为本版本 ${VERSION}`,
  en: `The images of Moli.

  node infra/images/images.ts build [TARGET…] [--registry R] [--tag T] [-- ARGUMENT OF THE ENGINE…]
      build with docker, podman or buildah (MOLI_BUILDER says which); targets: ${TARGETS.join(' ')}
  node infra/images/images.ts list [-- ARGUMENT OF HELM…]
      list every image that the chart uses with these values, such as: list -- -f my-values.yaml --set eval.enabled=true
  node infra/images/images.ts save DIR [IMAGE…] [-- ARGUMENT OF HELM…]
      save these images (default: all that list prints) into one archive with checksums, for a site without Internet
  node infra/images/images.ts sbom DIR [TARGET…] [--registry R] [--tag T]
      write a CycloneDX bill of materials for each image

  --registry R    what image names start with, as image.registry of the chart: registry.example
  --tag T         the tag; default: this version, ${VERSION}`,
};

interface Asked {
  readonly command: string | undefined;
  readonly words: readonly string[];
  readonly registry: string;
  readonly tag: string;
  readonly help: boolean;
  /** What stands behind `--`: for helm or the engine. */
  readonly passedOn: readonly string[];
}

function parse(argv: readonly string[]): Asked {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  try {
    const { values, positionals } = parseArgs({
      args: [...own],
      allowPositionals: true,
      options: {
        registry: { type: 'string', default: '' },
        tag: { type: 'string', default: VERSION },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const [command, ...words] = positionals;
    return { command, words, ...values, passedOn: end < 0 ? [] : argv.slice(end + 1) };
  } catch (error) {
    throw wrong(error instanceof Error ? error.message.split('. ')[0] : undefined);
  }
}

function wrong(detail = ''): UsageError {
  return new UsageError({ zh: `${detail}\n\n${HELP.zh}`.trim(), en: `${detail}\n\n${HELP.en}`.trim() });
}

function targetsOf(words: readonly string[]): readonly Target[] {
  const unknown = words.filter((word) => !TARGETS.includes(word as Target));
  if (unknown.length > 0) throw wrong(`${unknown.join(', ')}?`);
  return words.length > 0 ? (words as Target[]) : TARGETS;
}

function folderOf(words: readonly string[]): string {
  const [folder] = words;
  if (!folder) throw wrong();
  return folder;
}

/** Runs one command line. Results go to standard output, everything else to standard error. */
export async function run(argv: readonly string[]): Promise<void> {
  const { command, words, registry, tag, help, passedOn } = parse(argv);
  if (help) return print(inWords(HELP));
  switch (command) {
    case 'build':
      for (const image of buildImages({ registry, tag, targets: targetsOf(words), engineArguments: passedOn }))
        print(image);
      return;
    case 'list': {
      const { chartImages } = await import('./chart-images.ts');
      for (const image of chartImages(passedOn)) print(image);
      return;
    }
    case 'save': {
      const { saveImages } = await import('./save.ts');
      const { chartImages } = await import('./chart-images.ts');
      const [folder, ...named] = [folderOf(words), ...words.slice(1)];
      const images = named.length > 0 ? named : chartImages(passedOn);
      if (images.length === 0) throw new Failure({ zh: '没有要存的镜像。', en: 'There is no image to save.' });
      const { howToLoad } = await import('./how-to-load.ts');
      await saveImages(folder, images);
      return print(inWords(howToLoad(images)));
    }
    case 'sbom': {
      const { writeSboms } = await import('./sbom.ts');
      for (const path of writeSboms(folderOf(words), registry, tag, targetsOf(words.slice(1)))) print(path);
      return;
    }
    default:
      throw wrong();
  }
}
