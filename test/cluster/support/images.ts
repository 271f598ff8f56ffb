import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { command } from './kubectl.ts';
import { inNode } from './tool.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const STAND_INS = fileURLToPath(new URL('../images', import.meta.url));
const REGISTRY = 'localhost';
const OURS = ['gateway', 'executor', 'courier', 'sandbox'];
/** Images with the interface of those that an evaluation install pulls, from packages of Debian and of Python. */
const EVAL = ['postgres', 'redis', 's3'];
const BUILD_MS = 20 * 60_000;

export interface Images {
  readonly registry: string;
  readonly tag: string;
  /** Values below `eval` that name the stand-ins. */
  readonly eval: Readonly<Record<string, { readonly image: string }>>;
}

/** Builds every image on the tool's own base images and loads them into the node; what did not change takes seconds. */
export async function buildImages(tool: string): Promise<Images> {
  await command(`${tool}/images/base`, [], { timeoutMs: BUILD_MS });
  const builds = [
    ...OURS.map((target) => ({ name: `moli/${target}`, args: ['--target', target, ROOT] })),
    ...EVAL.map((name) => ({ name: `moli-test/${name}`, args: [`${STAND_INS}/${name}`] })),
  ];
  const ids: string[] = [];
  for (const { name, args } of builds) {
    const image = `${REGISTRY}/${name}:build`;
    await command(`${tool}/images/bud`, ['-q', '-t', image, ...args], { timeoutMs: BUILD_MS });
    ids.push(await imageId(tool, image));
  }
  // Named by what is in it: a node that has the tag has these very images.
  const tag = createHash('sha256').update(ids.join()).digest('hex').slice(0, 12);
  const there = await inNode(tool, ['ctr', '-n', 'k8s.io', 'images', 'ls', '-q']);
  for (const { name } of builds) {
    const image = `${REGISTRY}/${name}:${tag}`;
    if (there.split('\n').includes(image)) continue;
    await command(`${tool}/images/buildah`, ['tag', `${REGISTRY}/${name}:build`, image]);
    await command(`${tool}/load`, [image], { timeoutMs: BUILD_MS });
  }
  // The chart puts its registry before these as well.
  const stand = (name: string) => ({ image: `moli-test/${name}:${tag}` });
  return { registry: REGISTRY, tag, eval: { postgres: stand('postgres'), redis: stand('redis'), s3: stand('s3') } };
}

async function imageId(tool: string, image: string): Promise<string> {
  return (
    await command(`${tool}/images/buildah`, ['inspect', '--type', 'image', '--format', '{{.FromImageID}}', image])
  ).trim();
}
