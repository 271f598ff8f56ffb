import { readFileSync } from 'node:fs';

/** Our own images: targets of the Dockerfile. */
export const TARGETS = ['gateway', 'executor', 'courier', 'sandbox'] as const;
export type Target = (typeof TARGETS)[number];

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
/** The version of this checkout: the tag unless another one is given. */
export const VERSION = version;

/** `registry.example/moli/gateway:0.1.0`, as the chart writes it. Without a registry the name has none. */
export function imageName(target: Target, registry: string, tag: string): string {
  const prefix = registry.replace(/\/+$/, '');
  return `${prefix ? `${prefix}/` : ''}moli/${target}:${tag}`;
}
