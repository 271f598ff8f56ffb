import type { Text } from '../launcher/words.ts';

/** What the chart put before every name of these images (`image.registry`), told by its own ones. */
function registryOf(images: readonly string[]): string {
  const found = images.map((image) => /^(.+\/)moli\/(?:gateway|executor|courier|sandbox):/.exec(image)?.[1]);
  return found.find((prefix) => prefix !== undefined) ?? '';
}

/** The names that the chart gives the same images with `image.registry` set to `registry`. */
export function namesIn(registry: string, images: readonly string[]): string[] {
  const before = registryOf(images);
  return images.map((image) => `${registry}/${image.startsWith(before) ? image.slice(before.length) : image}`);
}

/** What to do with a saved archive at a site without Internet. */
export function howToLoad(images: readonly string[]): Text {
  const pushes = namesIn('registry.example', images)
    .map((inside, at) => [images[at], inside])
    .map(([image, inside]) => `    docker tag ${image} ${inside} && docker push ${inside}`)
    .join('\n');
  return {
    zh: `${images.length} 个镜像在 moli-images.tar 中，名单在 images.txt。把整个目录带到目标环境，在其中：

1. 校验
    sha256sum -c SHA256SUMS
2. 装入，任选一种
    docker load -i moli-images.tar
    podman load -i moli-images.tar
    ctr -n k8s.io images import moli-images.tar      （没有镜像仓库时，在每个节点上）
3. 推送到内部镜像仓库，把 registry.example 换成它的地址
${pushes}
   安装时加上 --set image.registry=registry.example`,
    en: `${images.length} images are in moli-images.tar, their names in images.txt. Take the whole folder to the site, and in it:

1. check
    sha256sum -c SHA256SUMS
2. load, one of
    docker load -i moli-images.tar
    podman load -i moli-images.tar
    ctr -n k8s.io images import moli-images.tar      (without a registry, on each node)
3. push to the registry inside; write its address for registry.example
${pushes}
   and install with --set image.registry=registry.example`,
  };
}
