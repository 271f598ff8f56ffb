import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { Failure } from '../launcher/failure.ts';
import { ROOT } from '../launcher/paths.ts';

/** Every image that the objects of these manifests name, in order, each once. */
export function imagesIn(manifests: string): string[] {
  const images = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item);
    else if (node !== null && typeof node === 'object') {
      for (const [key, value] of Object.entries(node)) {
        // A container, wherever a Pod is described; an object-valued `image` is something else.
        if (key === 'image' && typeof value === 'string' && value !== '') images.add(value);
        else visit(value);
      }
    }
  };
  for (const document of parseAllDocuments(manifests)) visit(document.toJS());
  return [...images].sort();
}

/**
 * The images that an installation of the chart with these arguments of helm (`-f my-values.yaml`, `--set eval.enabled=true`) pulls. The chart
 * itself is asked: no second list can differ from it.
 */
export function chartImages(helmArguments: readonly string[], chart = join(ROOT, 'charts/moli')): string[] {
  const asked = ['template', 'moli', chart, '--namespace', 'moli', '--kube-version', leastKubernetes(chart)];
  const run = spawnSync('helm', [...asked, ...helmArguments], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
  if (run.error) {
    throw new Failure({
      zh: '没有找到 helm。列出镜像需要 helm 3：由 chart 本身说出它要用哪些镜像。请安装后重试，或直接给出镜像名。',
      en: 'helm was not found. The list needs helm 3, because the chart itself says which images it uses. Install it, or give the images by name.',
    });
  }
  if (run.status !== 0) {
    const reason = run.stderr.trim();
    throw new Failure({
      zh: `chart 不接受这些值，请按下面的说明改正：\n${reason}`,
      en: `The chart does not accept these values; correct them as it says:\n${reason}`,
    });
  }
  return imagesIn(run.stdout);
}

/** The oldest Kubernetes that the chart takes: no cluster is asked here, and a helm may be older than the cluster. */
function leastKubernetes(chart: string): string {
  const { kubeVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as { kubeVersion: string };
  return kubeVersion.match(/\d+\.\d+\.\d+/)?.[0] ?? kubeVersion;
}
