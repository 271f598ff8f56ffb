import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { command } from './kubectl.ts';
import { inNode } from './tool.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const STAND_INS = fileURLToPath(new URL('../images', import.meta.url));
const REGISTRY = 'localhost';
const NODE_IMAGES = ['gateway', 'executor', 'courier'];
/** Images with the interface of those that an evaluation install pulls, from packages of Debian and of Python. */
const EVAL = ['postgres', 'redis', 's3'];
const BUILD_MS = 20 * 60_000;
/** As many letters of a digest as people are shown elsewhere. */
const ID_LETTERS = 12;

export interface Images {
  readonly registry: string;
  readonly tag: string;
  /** Values below `eval` that name the stand-ins. */
  readonly eval: Readonly<Record<string, { readonly image: string }>>;
}

/** Builds every image on the tool's own base images and loads those that the node has not got; what did not change takes seconds. */
export async function buildImages(tool: string): Promise<Images> {
  await command(`${tool}/images/base`, [], { timeoutMs: BUILD_MS });
  const loaded = new Set((await ctr(tool, 'ls', '-q')).split('\n'));
  const ids = new Map<string, string>();
  const provide = async (name: string, ...args: string[]): Promise<void> => {
    const built = `${REGISTRY}/${name}:build`;
    await command(`${tool}/images/bud`, ['-q', '-t', built, ...args], { timeoutMs: BUILD_MS });
    const id = await imageId(tool, built);
    ids.set(name, id);
    // Named by what is in it: a node that has the name has this very image.
    const image = `${REGISTRY}/${name}:${id}`;
    if (loaded.has(image)) return;
    await command(`${tool}/images/buildah`, ['tag', built, image]);
    await command(`${tool}/load`, [image], { timeoutMs: BUILD_MS });
  };
  const ours = (target: string) => provide(`moli/${target}`, '--target', target, ROOT);
  await Promise.all([
    // The images of Node share their first stages: after each other, each stage is built once.
    eachIn(NODE_IMAGES, ours),
    ours('sandbox').then(() => eachIn(EVAL, (name) => provide(`moli-test/${name}`, `${STAND_INS}/${name}`))),
  ]);
  // A release has one tag for all of its own images.
  const own = [...NODE_IMAGES, 'sandbox'].map((target) => ({ target, id: ids.get(`moli/${target}`)! }));
  const tag = createHash('sha256')
    .update(own.map(({ id }) => id).join())
    .digest('hex')
    .slice(0, ID_LETTERS);
  for (const { target, id } of own) {
    const image = `${REGISTRY}/moli/${target}`;
    if (!loaded.has(`${image}:${tag}`)) await ctr(tool, 'tag', `${image}:${id}`, `${image}:${tag}`);
  }
  // The chart puts its registry before these as well.
  const stand = (name: string) => ({ image: `moli-test/${name}:${ids.get(`moli-test/${name}`)}` });
  return { registry: REGISTRY, tag, eval: { postgres: stand('postgres'), redis: stand('redis'), s3: stand('s3') } };
}

async function eachIn(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  for (const name of names) await work(name);
}

/** The node's own images: what `ctr images` says. */
function ctr(tool: string, ...args: string[]): Promise<string> {
  return inNode(tool, ['ctr', '-n', 'k8s.io', 'images', ...args]);
}

async function imageId(tool: string, image: string): Promise<string> {
  const id = await command(`${tool}/images/buildah`, [
    'inspect',
    '--type',
    'image',
    '--format',
    '{{.FromImageID}}',
    image,
  ]);
  return id.slice(0, ID_LETTERS);
}
