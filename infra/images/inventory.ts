import { type Lock, needsOf } from './packages-outside.ts';

/** One thing that an image contains, as CycloneDX calls it. */
export interface Component {
  readonly type: 'application' | 'framework' | 'library' | 'operating-system' | 'container';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly licenses?: readonly unknown[];
  readonly supplier?: { readonly name: string };
}

/** Packages of Debian, from dpkg's records (`/var/lib/dpkg/status`). */
export function debianPackages(status: string, release: string): Component[] {
  return status
    .split(/\n\n+/)
    .filter((record) => record.trim() !== '')
    .map((record) => {
      const field = (name: string) => record.match(new RegExp(`^${name}: (.*)$`, 'm'))?.[1] ?? '';
      const [name, version] = [field('Package'), field('Version')];
      const source = field('Source').split(' ')[0];
      const upstream = source && source !== name ? `&upstream=${encodeURIComponent(source)}` : '';
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${field('Architecture')}&distro=${release}${upstream}`;
      return { type: 'library', 'bom-ref': purl, name, version, purl, supplier: { name: 'Debian' } };
    });
}

/** `debian-12` and the like, from the text of /etc/os-release. */
export function debianRelease(osRelease: string): string {
  const value = (name: string) => osRelease.match(new RegExp(`^${name}="?([^"\n]*)"?$`, 'm'))?.[1] ?? '';
  return `${value('ID')}-${value('VERSION_ID')}`;
}

/** Python packages, from the lock file of the sandbox (`requirements.txt` with exact versions). */
export function pythonPackages(requirements: string): Component[] {
  return [...requirements.matchAll(/^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)/gm)].map(([, name = '', version = '']) => {
    const purl = `pkg:pypi/${name.toLowerCase().replaceAll('_', '-')}@${encodeURIComponent(version)}`;
    return { type: 'library', 'bom-ref': purl, name, version, purl };
  });
}

// Standards and data that Node counts among its versions and that nobody publishes faults about.
const NOT_PROGRAMS = new Set(['node', 'modules', 'napi', 'unicode', 'cldr', 'tz']);

/** Node and what is built into it, from the versions that it gives itself (`process.versions`). */
export function nodeParts(versions: Readonly<Record<string, string>>): Component[] {
  const part = (name: string, version: string, type: 'framework' | 'library'): Component => {
    const purl = `pkg:generic/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
    return { type, 'bom-ref': purl, name, version, purl };
  };
  const inside = Object.entries(versions).filter(([name]) => !NOT_PROGRAMS.has(name));
  return [
    part('node', versions.node ?? '', 'framework'),
    ...inside.map(([name, version]) => part(name, version, 'library')),
  ];
}

export interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

/** What `npm sbom` prints, as far as it is read here. */
export interface NpmBom {
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/** The part of npm's list that a bundle is made of, by the list that lies beside it in its image (`name@version`). */
export function bundledPackages(bom: NpmBom, bundled: readonly string[]): NpmBom {
  const kept = new Set(bundled);
  const unknown = bundled.filter((ref) => !bom.components.some((one) => one['bom-ref'] === ref));
  if (unknown.length > 0) throw new Error(`npm sbom does not list ${unknown.join(', ')}: the image is of another tree`);
  return only(bom, kept);
}

/**
 * The part of npm's whole list that these workspaces run with: npm lists what is beside them too. What is only needed to build and test, and peers
 * that a package can do without, are left out here and not by npm, which with `--omit=dev` leaves out of every workspace what one of them has for its
 * tests. Types are no part of a program.
 */
export function workspacePackages(bom: NpmBom, workspaces: readonly string[], lock: Lock): NpmBom {
  const wanted = new Map(
    Object.entries(lock.packages).map(([path, entry]) => [
      `${entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${entry.version}`,
      needsOf(entry),
    ]),
  );
  const needs = new Map(
    bom.dependencies.map(({ ref, dependsOn = [] }) => [
      ref,
      dependsOn.filter((need) => wanted.get(ref)?.has(nameOf(need)) ?? true),
    ]),
  );
  const kept = new Set<string>();
  const visit = (ref: string): void => {
    if (kept.has(ref) || ref.startsWith('@types/')) return;
    kept.add(ref);
    for (const need of needs.get(ref) ?? []) visit(need);
  };
  for (const workspace of workspaces) {
    // By the reference: as the name of a workspace npm gives that of its folder.
    const found = bom.components.find(({ 'bom-ref': ref }) => ref.startsWith(`${workspace}@`));
    if (!found) throw new Error(`npm sbom does not list the workspace ${workspace}`);
    visit(found['bom-ref']);
  }
  return only(bom, kept);
}

/** `driver` of `driver@2`. */
function nameOf(ref: string): string {
  return ref.slice(0, ref.lastIndexOf('@'));
}

function only(bom: NpmBom, kept: ReadonlySet<string>): NpmBom {
  return {
    components: bom.components.filter((one) => kept.has(one['bom-ref'])),
    dependencies: bom.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((need) => kept.has(need)) })),
  };
}
